#include "module/redis/protocol/log_throttle.hpp"

#include <gtest/gtest.h>

#include "t/unit/redis/times.hpp"

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;

TEST(LogThrottle, AdmitsALineASecondAndCountsTheOthers) {
    LogThrottle throttle;
    EXPECT_EQ(throttle.admit(at(0ms)), 0U);
    EXPECT_EQ(throttle.admit(at(10ms)), std::nullopt);
    EXPECT_EQ(throttle.admit(at(999ms)), std::nullopt);
    EXPECT_EQ(throttle.admit(at(1000ms)), 2U);
    EXPECT_EQ(throttle.admit(at(5000ms)), 0U);
}

TEST(LogThrottle, HasAnotherInterval) {
    LogThrottle throttle(1min);
    EXPECT_EQ(throttle.admit(at(0ms)), 0U);
    EXPECT_EQ(throttle.admit(at(59'999ms)), std::nullopt);
    EXPECT_EQ(throttle.admit(at(60'000ms)), 1U);
}

}  // namespace
}  // namespace tollgate::redis
