#include "module/plan/window_rest.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

constexpr Instant kRestAt(1'000'000'030s);
const Period kRestPeriod(60s);

WindowCount counted_in_minute(std::int64_t count, std::int64_t previous) {
    return {window_number(kRestAt, kRestPeriod), count, previous};
}

TEST(WindowRest, AFixedWindowResetsAtItsEnd) {
    const Rate rate{10, kRestPeriod};
    const ExactInstant end = window_end(window_number(kRestAt, kRestPeriod), kRestPeriod);
    EXPECT_EQ(units_left(counted_in_minute(4, 100), rate, false, kRestAt), 6);
    EXPECT_EQ(units_left(counted_in_minute(14, 0), rate, false, kRestAt), -4);
    for (const std::int64_t count : {4, 10, 14}) {
        const auto rest = rest_of(counted_in_minute(count, 100), rate, false, kRestAt, 2);
        EXPECT_EQ(rest.remaining, std::max<std::int64_t>(10 - count, 0));
        EXPECT_EQ(rest.reset, end);
    }
}

TEST(WindowRest, ASlidingWindowGrantsAgainAsItsCountsFade) {
    const Rate rate{10, kRestPeriod};
    const ExactInstant end = window_end(window_number(kRestAt, kRestPeriod), kRestPeriod);
    const auto some = rest_of(counted_in_minute(4, 6), rate, true, kRestAt, 1);
    EXPECT_EQ(some.remaining, units_left(counted_in_minute(4, 6), rate, true, kRestAt));
    EXPECT_GT(some.remaining, 0);
    EXPECT_EQ(some.reset, end);
    const auto none = rest_of(counted_in_minute(4, 60), rate, true, kRestAt, 3);
    EXPECT_EQ(none.remaining, 0);
    EXPECT_EQ(none.reset, ExactInstant(room_at(counted_in_minute(4, 60), rate, 3)));
    EXPECT_EQ(renewed_at(counted_in_minute(4, 60), rate, kRestAt), end);
}

TEST(WindowRest, ABucketGrantsAgainWhenItHasTheTokens) {
    const Rate rate{.requests = 60, .period = kRestPeriod, .burst = 5};
    const auto bucket_with = [&](std::int64_t tokens, ExactInstant at) {
        return WindowCount{rate.requests, debt_of(rate, rate.burst - tokens),
                           at.time_since_epoch().count()};
    };
    EXPECT_EQ(units_left(bucket_with(2, kRestAt), rate, false, kRestAt), 2);
    EXPECT_EQ(units_left(bucket_with(2, kRestAt - 1s), rate, false, kRestAt), 3);
    const auto some = rest_of(bucket_with(2, kRestAt), rate, false, kRestAt, 1);
    EXPECT_EQ(some.remaining, 2);
    EXPECT_EQ(some.reset, kRestAt + 3s) << "when it is full";
    const auto none = rest_of(bucket_with(0, kRestAt), rate, false, kRestAt, 2);
    EXPECT_EQ(none.remaining, 0);
    EXPECT_EQ(none.reset, kRestAt + 2s) << "when it has the cost";
    EXPECT_EQ(grants_at(bucket_with(0, kRestAt), rate, false, kRestAt, 0), kRestAt + 1s);
    EXPECT_EQ(rest_of(bucket_with(-1, kRestAt), rate, false, kRestAt, 1).remaining, 0);
}

/// Redis's clock went back: the bucket refills from its time on.
TEST(WindowRest, ABucketOfALaterTime) {
    const Rate rate{.requests = 60, .period = kRestPeriod, .burst = 5};
    const WindowCount bucket{rate.requests, debt_of(rate, rate.burst),
                             ExactInstant(kRestAt + 7s).time_since_epoch().count()};
    EXPECT_EQ(units_left(bucket, rate, false, kRestAt), 0);
    EXPECT_EQ(grants_at(bucket, rate, false, kRestAt, 1), kRestAt + 8s);
    EXPECT_EQ(renewed_at(bucket, rate, kRestAt), kRestAt + 12s);
}

}  // namespace
}  // namespace tollgate
