#include "module/redis/topology/call_retries.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "t/unit/redis/times.hpp"

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;
using Kind = CallRetries::Next::Kind;
using Time = CallRetries::Time;

/// The delays of repeated errors of this action, until the call is given up. Each attempt takes no
/// time.
std::vector<std::chrono::milliseconds> delays(ErrorAction action,
                                              std::chrono::milliseconds timeout) {
    CallRetries retries(kStart + timeout);
    std::vector<std::chrono::milliseconds> all;
    Time now = kStart;
    for (;;) {
        const auto next = retries.next(action, now);
        if (next.kind != Kind::kSendAt) {
            EXPECT_EQ(next.kind, Kind::kGiveUp);
            return all;
        }
        EXPECT_LT(next.at, kStart + timeout);
        all.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(next.at - now));
        now = next.at;
    }
}

TEST(CallRetries, FollowsFiveRedirections) {
    CallRetries retries(kStart + 100ms);
    for (const auto action : {ErrorAction::kMoved, ErrorAction::kAsk, ErrorAction::kMoved,
                              ErrorAction::kMoved, ErrorAction::kAsk}) {
        EXPECT_EQ(retries.next(action, kStart).kind, Kind::kSendNow);
    }
    EXPECT_EQ(retries.redirections(), 5);
    EXPECT_EQ(retries.next(ErrorAction::kMoved, kStart).kind, Kind::kGiveUp);
    EXPECT_EQ(retries.next(ErrorAction::kAsk, kStart).kind, Kind::kGiveUp);
}

TEST(CallRetries, WaitsLongerEachTime) {
    const std::vector<std::chrono::milliseconds> expected{5ms, 10ms, 20ms, 40ms};
    EXPECT_EQ(delays(ErrorAction::kRetryLater, 100ms), expected);
    EXPECT_EQ(delays(ErrorAction::kRediscover, 100ms), expected);
}

TEST(CallRetries, WaitsAtMostASecond) {
    const auto all = delays(ErrorAction::kRetryLater, 10s);
    ASSERT_GT(all.size(), 9);
    EXPECT_EQ(all[7], 640ms);
    EXPECT_EQ(all[8], 1000ms);
    EXPECT_EQ(all.back(), 1000ms);
}

TEST(CallRetries, SendsBeforeTheDeadlineOnly) {
    EXPECT_TRUE(delays(ErrorAction::kRetryLater, 5ms).empty());
    EXPECT_EQ(delays(ErrorAction::kRetryLater, 6ms).size(), 1);
    CallRetries retries(kStart);
    EXPECT_EQ(retries.next(ErrorAction::kMoved, kStart).kind, Kind::kGiveUp);
    EXPECT_EQ(retries.next(ErrorAction::kMoved, kStart + 1s).kind, Kind::kGiveUp);
    EXPECT_EQ(retries.next(ErrorAction::kMoved, kStart - 1ms).kind, Kind::kSendNow);
}

TEST(CallRetries, CountsRedirectionsAndDelaysApart) {
    CallRetries retries(kStart + 100ms);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(retries.next(ErrorAction::kMoved, kStart).kind, Kind::kSendNow);
    }
    const auto next = retries.next(ErrorAction::kRetryLater, kStart);
    EXPECT_EQ(next.kind, Kind::kSendAt);
    EXPECT_EQ(next.at, kStart + 5ms);
}

TEST(CallRetries, GivesUpWhereASecondAttemptDoesNotHelp) {
    CallRetries retries(kStart + 100ms);
    EXPECT_EQ(retries.next(ErrorAction::kUnavailable, kStart).kind, Kind::kGiveUp);
    EXPECT_EQ(retries.next(ErrorAction::kNone, kStart).kind, Kind::kGiveUp);
}

}  // namespace
}  // namespace tollgate::redis
