#include "module/redis/protocol/backoff.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DoublesUpToASecond) {
    Backoff backoff;
    for (const auto delay : {50ms, 100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
        EXPECT_EQ(backoff.next(1.0), delay);
    }
}

TEST(Backoff, IsJitteredDownToHalf) {
    Backoff backoff;
    EXPECT_EQ(backoff.next(0.0), 25ms);
    EXPECT_EQ(backoff.next(0.5), 75ms);
    EXPECT_EQ(backoff.next(0.0), 100ms);
}

TEST(Backoff, BeginsAnewOnceTheServerAnswered) {
    Backoff backoff;
    EXPECT_TRUE(backoff.is_fresh());
    backoff.next(1.0);
    EXPECT_FALSE(backoff.is_fresh());
    backoff.next(1.0);
    backoff.reset();
    EXPECT_TRUE(backoff.is_fresh());
    EXPECT_EQ(backoff.next(1.0), 50ms);
}

}  // namespace
}  // namespace tollgate
