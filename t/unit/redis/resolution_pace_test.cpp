#include "module/redis/protocol/resolution_pace.hpp"

#include <gtest/gtest.h>

#include "t/unit/redis/times.hpp"

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;

TEST(ResolutionPace, ResolvesAgainWhenTheAnswerExpires) {
    ResolutionPace pace;
    pace.start(at(5000));
    EXPECT_EQ(pace.succeed(at(5020), 30s), at(35'020));
}

TEST(ResolutionPace, KeepsASecondBetweenResolutions) {
    ResolutionPace pace;
    EXPECT_EQ(pace.earliest(at(5)), at(5));
    pace.start(at(5000));
    EXPECT_EQ(pace.earliest(at(5020)), at(6000));
    EXPECT_EQ(pace.succeed(at(5020), 0s), at(6000));
    EXPECT_EQ(pace.earliest(at(6500)), at(6500));
    pace.start(at(6500));
    EXPECT_EQ(pace.succeed(at(9000), -1s), at(9000));
}

TEST(ResolutionPace, DoublesTheDelayAfterFailures) {
    ResolutionPace pace;
    int now = 5000;
    for (const int delay : {1000, 2000, 4000, 8000, 10'000, 10'000}) {
        pace.start(at(now));
        EXPECT_EQ(pace.fail(at(now + 10), true), at(now + 10 + delay));
        now += delay;
    }
    pace.start(at(now));
    pace.succeed(at(now), 1s);
    EXPECT_EQ(pace.fail(at(now), true), at(now + 1000));
}

TEST(ResolutionPace, DoesNotDelayWhileNoAddressIsKnown) {
    ResolutionPace pace;
    for (int now = 5000; now < 9000; now += 1000) {
        pace.start(at(now));
        EXPECT_EQ(pace.fail(at(now + 10), false), at(now + 1000));
    }
    pace.start(at(9000));
    EXPECT_EQ(pace.fail(at(13'000), false), at(13'000));
}

TEST(ResolutionPace, RepeatsAnUnansweredQueryEarlierWhileNoAddressIsKnown) {
    ResolutionPace pace;
    EXPECT_EQ(pace.time_limit(30s, true), 30s);
    for (const auto limit : {1s, 2s, 4s, 5s}) {
        EXPECT_EQ(pace.time_limit(5s, false), limit);
        pace.fail(at(0), false);
    }
    pace.succeed(at(0), 1s);
    EXPECT_EQ(pace.time_limit(30s, false), 1s);
}

}  // namespace
}  // namespace tollgate::redis
