#include "module/gateway/patience.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

Patience::Time at(std::chrono::microseconds time) {
    return Patience::Time(time);
}

TEST(Patience, EndsAtItsTimeout) {
    Patience patience(at(50ms), 100ms);
    EXPECT_EQ(patience.rest(at(150ms)), std::nullopt);
}

TEST(Patience, WaitsForTheRestWhereATimerFiresTooEarly) {
    Patience patience(at(50ms), 100ms);
    EXPECT_EQ(patience.rest(at(90ms)), 60ms);
    EXPECT_EQ(patience.rest(at(149'500us)), 1ms);
    EXPECT_EQ(patience.rest(at(150ms)), std::nullopt);
}

TEST(Patience, AllowsForATimerThatFiresALittleLate) {
    Patience patience(at(0ms), 100ms);
    EXPECT_EQ(patience.rest(at(120ms)), std::nullopt);
}

TEST(Patience, BeginsAnewOnceAfterAStall) {
    Patience patience(at(0ms), 100ms);
    EXPECT_EQ(patience.rest(at(400ms)), 100ms);
    EXPECT_EQ(patience.rest(at(450ms)), 50ms);
    EXPECT_EQ(patience.rest(at(900ms)), std::nullopt);
}

}  // namespace
}  // namespace tollgate
