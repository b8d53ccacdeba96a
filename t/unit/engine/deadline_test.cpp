#include "module/process/deadline.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

Deadline::Time at(std::chrono::microseconds time) {
    return Deadline::Time(time);
}

TEST(Deadline, EndsAtItsTimeout) {
    Deadline deadline(at(50ms), 100ms);
    EXPECT_EQ(deadline.rest(at(150ms)), std::nullopt);
}

TEST(Deadline, WaitsForTheRestWhereATimerFiresTooEarly) {
    Deadline deadline(at(50ms), 100ms);
    EXPECT_EQ(deadline.rest(at(90ms)), 60ms);
    EXPECT_EQ(deadline.rest(at(149'500us)), 1ms);
    EXPECT_EQ(deadline.rest(at(150ms)), std::nullopt);
}

TEST(Deadline, AllowsForATimerThatFiresALittleLate) {
    Deadline deadline(at(0ms), 100ms);
    EXPECT_EQ(deadline.rest(at(120ms)), std::nullopt);
}

TEST(Deadline, BeginsAnewOnceAfterAStall) {
    Deadline deadline(at(0ms), 100ms);
    EXPECT_EQ(deadline.rest(at(400ms)), 100ms);
    EXPECT_EQ(deadline.rest(at(450ms)), 50ms);
    EXPECT_EQ(deadline.rest(at(900ms)), std::nullopt);
}

}  // namespace
}  // namespace tollgate
