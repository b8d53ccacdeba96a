#include "module/management/turn_pace.hpp"

#include <gtest/gtest.h>

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;

class TurnPaceTest : public testing::Test {
  protected:
    /// The pause after turns at each millisecond of this time, at so many requests a second.
    std::chrono::milliseconds pause_after(std::chrono::milliseconds time, int per_second) {
        std::chrono::milliseconds pause{};
        for (const auto end = now + time; now < end; now += 1ms) {
            requests += static_cast<std::uint64_t>(per_second);
            pause = pace.pause_after_turn(now, requests / 1000);
        }
        return pause;
    }

    TurnPace pace;
    TurnPace::Time now{1h};
    std::uint64_t requests = 5'000'000;  ///< thousandths
};

TEST_F(TurnPaceTest, PausesBesideRequests) {
    EXPECT_EQ(pause_after(40ms, 1000), 1ms);
}

TEST_F(TurnPaceTest, DoesNotPauseBesideFewRequests) {
    EXPECT_EQ(pause_after(1s, 0), 0ms);
    EXPECT_EQ(pause_after(1s, 100), 0ms);
}

TEST_F(TurnPaceTest, ForgetsRequestsSoon) {
    pause_after(1s, 1000);
    EXPECT_EQ(pause_after(40ms, 0), 0ms);
}

TEST_F(TurnPaceTest, DoesNotNoticeTheRequestsBeforeAnIdleTime) {
    pause_after(1s, 0);
    requests += 5000;
    now += 1min;
    EXPECT_EQ(pace.pause_after_turn(now, requests / 1000), 0ms) << "they may be a minute old";
}

}  // namespace
}  // namespace tollgate::management
