#include "module/management/turn_pace.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;

class TurnPaceTest : public testing::Test {
  protected:
    /// Time without turns, at so many requests a second. The pace is asked each millisecond.
    void idle(std::chrono::milliseconds time, int per_second) {
        for (const auto end = now + time; now < end; pass(1ms, per_second)) {
            pace.pause(now, requests / 1000);
        }
    }

    /// How many turns there are in this time, each of which takes `turn`.
    int turns_in(std::chrono::milliseconds time, std::chrono::microseconds turn, int per_second) {
        int turns = 0;
        for (const auto end = now + time; now < end; ++turns) {
            pass(turn, per_second);
            pace.note_turn(now, turn);
            pass(pace.pause(now, requests / 1000), per_second);
        }
        return turns;
    }

    TurnPace pace{200};
    TurnPace::Time now{1h};
    std::uint64_t requests = 5'000'000;  ///< thousandths

  private:
    void pass(TurnPace::Time::duration time, int per_second) {
        now += time;
        requests += static_cast<std::uint64_t>(time / 1us * per_second / 1000);
    }
};

TEST_F(TurnPaceTest, TakesA200thOfTheTimeBesideRequests) {
    idle(1s, 1000);
    turns_in(1s, 20us, 1000);
    EXPECT_NEAR(turns_in(1s, 20us, 1000), 250, 2);
    EXPECT_NEAR(turns_in(1s, 5us, 1000), 1000, 2) << "shorter ones are more frequent";
}

TEST_F(TurnPaceTest, SavesTwoMilliseconds) {
    idle(1s, 1000);
    EXPECT_NEAR(turns_in(4ms, 20us, 1000), 101, 2);
    idle(100ms, 1000);
    EXPECT_NEAR(turns_in(4ms, 20us, 1000), 26, 2);
}

TEST_F(TurnPaceTest, DoesNotPauseBesideFewRequests) {
    EXPECT_EQ(turns_in(1s, 20us, 0), 50'000);
    EXPECT_EQ(turns_in(1s, 20us, 100), 50'000);
}

TEST_F(TurnPaceTest, DoesNotChargeTheTurnsBeforeTheRequests) {
    turns_in(1s, 20us, 0);
    idle(20ms, 1000);
    EXPECT_EQ(pace.pause(now, requests / 1000), 0ms);
}

TEST_F(TurnPaceTest, RemembersRequestsThatArriveAtRandom) {
    std::mt19937 random(7);                          // NOLINT(cert-msc51-cpp)
    std::exponential_distribution<double> gap(200);  // in seconds
    idle(1s, 1000);
    int turns = 0;
    auto arrival = now;
    for (const auto end = now + 10s; now < end; ++turns) {
        now += 20us;
        pace.note_turn(now, 20us);
        now += pace.pause(now, requests / 1000);
        for (; arrival <= now; requests += 1000) {
            arrival += std::chrono::round<TurnPace::Time::duration>(
                std::chrono::duration<double>(gap(random)));
        }
    }
    EXPECT_LE(turns, 2700);
}

TEST_F(TurnPaceTest, ForgetsRequestsSoon) {
    idle(1s, 1000);
    turns_in(1s, 20us, 1000);
    idle(350ms, 0);
    EXPECT_EQ(turns_in(20ms, 20us, 0), 1000);
}

TEST_F(TurnPaceTest, DoesNotNoticeTheRequestsBeforeAnIdleTime) {
    idle(1s, 0);
    requests += 5000;
    now += 1min;
    pace.note_turn(now, 20us);
    EXPECT_EQ(pace.pause(now, requests / 1000), 0ms) << "they may be a minute old";
}

}  // namespace
}  // namespace tollgate::management
