#include "module/redis/protocol/management_pace.hpp"

#include <gtest/gtest.h>

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;

/// How many calls are sent in this time, if there is always another one.
int calls_in(ManagementPace& pace, ManagementPace::Time& now, std::chrono::milliseconds time,
             std::chrono::milliseconds between_requests = 0ms) {
    int calls = 0;
    for (const auto end = now + time; now < end; now += 1ms) {
        if (between_requests != 0ms && now % between_requests == 0ms) {
            pace.note_request(now);
        }
        while (pace.take(now)) {
            ++calls;
        }
    }
    return calls;
}

TEST(ManagementPace, SendsSomeCallsAtOnceThenFiveAMillisecond) {
    ManagementPace pace;
    auto now = 5000ms;
    EXPECT_EQ(calls_in(pace, now, 1ms), 128);
    EXPECT_EQ(calls_in(pace, now, 100ms), 500);
    now += 1h;
    EXPECT_EQ(calls_in(pace, now, 1ms), 128);
}

TEST(ManagementPace, SendsOneInTwoMillisecondsBesideRequests) {
    ManagementPace pace;
    auto now = 5000ms;
    calls_in(pace, now, 100ms, 2ms);
    EXPECT_EQ(calls_in(pace, now, 100ms, 2ms), 50);
    calls_in(pace, now, 20ms);
    EXPECT_EQ(calls_in(pace, now, 100ms), 500) << "until 15 ms after them";
}

TEST(ManagementPace, DoesNotNoticeFewRequests) {
    ManagementPace pace;
    auto now = 5000ms;
    calls_in(pace, now, 1ms);
    EXPECT_EQ(calls_in(pace, now, 100ms, 10ms), 500);
}

}  // namespace
}  // namespace tollgate::redis
