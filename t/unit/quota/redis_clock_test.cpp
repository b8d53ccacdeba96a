#include "module/quota/redis_clock.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

constexpr Instant kEpoch(1'795'000'000'000ms);
/// A wall clock with a wrong time.
constexpr Instant kWrong(5s);

/// The bounds at `steady`, as distances from kEpoch + steady.
std::pair<std::int64_t, std::int64_t> bounds(const RedisClock& clock, SteadyTime steady) {
    const ClockBounds moment = clock.at(steady, kWrong);
    EXPECT_EQ(moment.steady, steady);
    return {(moment.earliest - kEpoch - steady).count(), (moment.latest - kEpoch - steady).count()};
}

using Bounds = std::pair<std::int64_t, std::int64_t>;

TEST(RedisClock, IsTheNodesClockUntilTheFirstReply) {
    const ClockBounds moment = RedisClock().at(7ms, kWrong);
    EXPECT_EQ(moment.steady, 7ms);
    EXPECT_EQ(moment.earliest, kWrong);
    EXPECT_EQ(moment.latest, kWrong);
}

TEST(RedisClock, IsBoundedByTheTimesOfCallAndReply) {
    RedisClock clock;
    clock.observe(1000ms, 1010ms, kEpoch + 1000ms);
    EXPECT_EQ(bounds(clock, 1010ms), (Bounds{-11, 1})) << "the node's and Redis's ms are not one";
}

TEST(RedisClock, IsBoundedMoreNarrowlyByEachReply) {
    RedisClock clock;
    clock.observe(1000ms, 1010ms, kEpoch + 1000ms);
    clock.observe(1010ms, 1012ms, kEpoch + 1010ms);
    EXPECT_EQ(bounds(clock, 1012ms), (Bounds{-3, 1}));
}

TEST(RedisClock, IsExactToTheMicrosecond) {
    RedisClock clock;
    clock.observe(1'000'000us, 1'000'080us, kEpoch + 1'000'030us);
    const ClockBounds moment = clock.at(1'000'100us, kWrong);
    EXPECT_EQ(moment.steady, 1000ms);
    EXPECT_EQ(moment.exact, kEpoch + 1'000'048us) << "50 us for the reply, one for each rounding";
    EXPECT_EQ(moment.earliest, kEpoch + 1000ms);
    EXPECT_EQ(moment.latest, kEpoch + 1001ms);
}

TEST(RedisClock, IsLessCertainWithTimeSinceTheLastReply) {
    RedisClock clock;
    clock.observe(1000ms, 1010ms, kEpoch + 1000ms);
    EXPECT_EQ(bounds(clock, 11'010ms), (Bounds{-21, 11}));
    EXPECT_EQ(bounds(clock, 3'601'010ms), (Bounds{-3611, 3601}));
}

TEST(RedisClock, IsReplacedAfterItWasSet) {
    for (const auto jump : {-2s, 2s, -3600s, 3600s}) {
        RedisClock clock;
        clock.observe(1000ms, 1001ms, kEpoch + 1000ms);
        clock.observe(2000ms, 2005ms, kEpoch + 2000ms + jump);
        const auto offset = std::chrono::milliseconds(jump).count();
        EXPECT_EQ(bounds(clock, 2005ms), (Bounds{offset - 6, offset + 1}));
    }
}

TEST(RedisClock, TakesNoBoundsOverFromAnotherServer) {
    RedisClock clock;
    clock.observe(1000ms, 1010ms, kEpoch + 1000ms);
    clock.restart(2000ms, 2010ms, kEpoch + 2007ms);
    EXPECT_EQ(bounds(clock, 2010ms), (Bounds{-4, 8})) << "not -4 to 2, where both overlap";
    clock.observe(2010ms, 2012ms, kEpoch + 2015ms);
    EXPECT_EQ(bounds(clock, 2012ms), (Bounds{2, 6})) << "but from its own replies";
}

TEST(RedisClock, TakesAReplyThatAWorkerReportsLate) {
    RedisClock clock;
    clock.observe(1000ms, 1010ms, kEpoch + 1000ms);
    clock.observe(1003ms, 1005ms, kEpoch + 1005ms);
    EXPECT_EQ(bounds(clock, 1010ms), (Bounds{-1, 1}));
}

TEST(RedisClock, BoundsRedissTimeDespiteDriftAndSlowReplies) {
    std::mt19937 random(1);
    const auto number = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    for (const std::int64_t drift : {-900, -20, 0, 20, 900}) {  // ppm
        // In us: the node's clock and Redis's clock, which has an offset and another speed.
        std::int64_t node = 123'456'789;
        const auto redis_at = [&](std::int64_t time) {
            return kEpoch + std::chrono::microseconds(time + 333'333 +
                                                      (time - 123'456'789) * drift / 1'000'000);
        };
        const auto steady = [](std::int64_t time) { return ExactSteadyTime(time); };
        RedisClock clock;
        for (int i = 0; i < 20'000; ++i) {
            const auto sent = node;
            const auto asked = sent + number(0, 30'000);
            const auto received = asked + number(0, 60'000);
            clock.observe(steady(sent), steady(received), redis_at(asked));
            node = received + number(0, 300'000);
            const ClockBounds moment = clock.at(steady(node), kWrong);
            ASSERT_LE(moment.earliest, moment.exact);
            ASSERT_LE(moment.exact, redis_at(node)) << drift << " ppm, call " << i;
            ASSERT_GE(moment.latest, redis_at(node)) << drift << " ppm, call " << i;
            ASSERT_LT(moment.latest - moment.earliest, 100ms);
            const auto later = node + number(0, 100'000);
            ASSERT_LE(EarliestTime(moment).at(steady(later)), redis_at(later));
        }
    }
}

TEST(RedisClock, GivesNoDeadlineBeforeTheFirstReply) {
    EXPECT_EQ(RedisClock().deadline(5s, 100ms), Instant{});
}

TEST(RedisClock, GivesADeadlineThatIsNeverTooEarly) {
    RedisClock clock;
    clock.observe(1000ms, 1004ms, Instant(50'000ms));
    const auto deadline = clock.deadline(2000ms, 100ms);
    EXPECT_EQ(deadline, clock.at(2000ms, {}).latest + 100ms);
    // An hour later, the drift widens the bounds by 3.6 s each way, but the deadline is still
    // close.
    const auto later = clock.at(2000ms + 1h, {});
    EXPECT_EQ(clock.deadline(2000ms + 1h, 100ms), later.earliest + 200ms);
}

// A time that is rounded to ms makes Retry-After one second too short near a full second.
TEST(EarliestTime, ContinuesToTheMicrosecond) {
    RedisClock clock;
    clock.observe(1'000'000us, 1'000'080us, kEpoch + 1'000'030us);
    const ClockBounds read = clock.at(1'000'900us, kWrong);
    const EarliestTime earliest(read);
    EXPECT_EQ(earliest.at(1'000'900us), read.exact - 1us) << "one for the rounding of the drift";
    EXPECT_EQ(earliest.at(1'100'900us), read.exact + 99'899us);
}

}  // namespace
}  // namespace tollgate
