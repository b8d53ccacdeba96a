#include "module/quota/unstored_state.hpp"

#include <gtest/gtest.h>

#include "module/plan/bucket.hpp"
#include "module/quota/lease.hpp"
#include "module/quota/owed_units.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

class UnstoredUnitsTest : public testing::Test {
  protected:
    static constexpr std::int64_t kHour = 500;
    static constexpr std::int64_t kDay = 20;

    UnstoredUnitsTest() {
        quota.table = "api";
        quota.rates = {{100, 3600s}, {1000, 86400s}};
    }
    QuotaState state_in(std::int64_t hour) const {
        QuotaState state;
        state.windows[0].counted = {.number = hour, .count = 40};
        state.windows[1].counted = {.number = kDay, .count = 400};
        return state;
    }
    QuotaState owing(std::int64_t units, std::int64_t hour = kHour) const {
        QuotaState state = state_in(hour);
        for (std::size_t i = 0; i < 2; ++i) {
            add_owed(state, quota, i, units);
        }
        state.owes_refund = units < 0;
        return state;
    }
    /// What a worker takes and adds to another state. It counts in `counts` of both.
    void move_units(QuotaState& from, QuotaState& to) {
        const QuotaState taken = take_unstored(from, quota);
        EXPECT_FALSE(is_held(from));
        add_unstored(to, quota, taken);
    }
    static void expect_owed(const QuotaState& state, std::int64_t hour, std::int64_t day) {
        EXPECT_EQ(state.windows[0].owed, hour);
        EXPECT_EQ(state.windows[1].owed, day);
    }

    TableQuota quota;
};

TEST_F(UnstoredUnitsTest, ARefundIsCarriedUntilItIsStored) {
    QuotaState from = owing(-7);
    const QuotaState taken = take_unstored(from, quota);
    EXPECT_EQ(from.counts.carried, 7);
    EXPECT_TRUE(taken.owes_refund);
    QuotaState to;
    add_unstored(to, quota, taken);
    EXPECT_EQ(to.counts.carried, -7);
    EXPECT_TRUE(to.owes_refund);
    expect_owed(to, -7, -7);
    EXPECT_EQ(to.windows[0].counted.number, kHour) << "an evicted state has these windows again";
    EXPECT_EQ(to.windows[1].counted.count, 400);
}

TEST_F(UnstoredUnitsTest, OwedUnitsAreCarriedUntilTheyAreStored) {
    QuotaState from = owing(5);
    QuotaState to = owing(2);
    move_units(from, to);
    EXPECT_EQ(from.counts.owed_carried, 5);
    EXPECT_EQ(to.counts.owed_carried, -5);
    expect_owed(to, 7, 7);
    EXPECT_FALSE(to.owes_refund);
}

TEST_F(UnstoredUnitsTest, ALeaseIsReturned) {
    QuotaState from = state_in(kHour);
    from.counted_at = Instant(1s);
    from.lease = 9;
    QuotaState to;
    move_units(from, to);
    EXPECT_EQ(from.lease, 0);
    expect_owed(to, -9, -9);
    EXPECT_FALSE(to.owes_refund) << "it needs no numbered report";
}

TEST_F(UnstoredUnitsTest, UnitsThatMeetAreSettled) {
    QuotaState from = owing(-4);
    QuotaState to = owing(3);
    move_units(from, to);
    expect_owed(to, -1, -1);
    EXPECT_EQ(to.counts.settled, 3);
    EXPECT_EQ(to.counts.returned, 3);
    EXPECT_TRUE(to.owes_refund);
}

TEST_F(UnstoredUnitsTest, AWindowThatHasEndedIsNotChanged) {
    QuotaState from = owing(-4);
    QuotaState to = state_in(kHour + 1);
    move_units(from, to);
    expect_owed(to, 0, -4);
    quota.rates.pop_back();
    from = owing(-4);
    to = state_in(kHour + 1);
    to.windows[1] = from.windows[1] = {};
    move_units(from, to);
    expect_owed(to, 0, 0);
    EXPECT_EQ(to.counts.lost, 4);
    EXPECT_FALSE(to.owes_refund);
}

TEST_F(UnstoredUnitsTest, ASlidingWindowTakesThoseOfTheWindowBefore) {
    quota.sliding = true;
    QuotaState from = owing(-4);
    QuotaState to = state_in(kHour + 1);
    move_units(from, to);
    EXPECT_EQ(to.windows[0].owed_previous, -4);
    expect_owed(to, 0, -4);
}

TEST_F(UnstoredUnitsTest, AStateOfAnEarlierWindowThatWasEvictedIsOfTheLaterOne) {
    QuotaState from = owing(-4);
    QuotaState to = owing(3, kHour - 1);
    move_units(from, to);
    EXPECT_EQ(to.windows[0].counted.number, kHour);
    EXPECT_EQ(to.windows[0].owed, -4);
    EXPECT_EQ(to.windows[1].owed, -1);
}

TEST_F(UnstoredUnitsTest, ADebtOfABucketRefillsSinceTheLaterTime) {
    Rate bucket{10, 1s};
    bucket.burst = 20;
    quota.rates = {bucket, {1000, 86400s}};
    const auto owing_since = [&](std::int64_t tokens, SteadyTime since) {
        QuotaState state;
        state.windows[0].counted.number = bucket.requests;
        state.windows[0].owed = debt_of(bucket, tokens);
        state.windows[0].owed_previous = since.count();
        state.windows[1].counted.number = kDay;
        state.windows[1].owed = tokens;
        return state;
    };
    QuotaState from = owing_since(4, 5s);
    QuotaState to = owing_since(3, 2s);
    move_units(from, to);
    EXPECT_EQ(to.windows[0].owed, debt_of(bucket, 7));
    EXPECT_EQ(to.windows[0].owed_previous, SteadyTime(5s).count());
    EXPECT_EQ(to.windows[1].owed, 7);
    EXPECT_EQ(to.counts.owed_carried, -4);
}

}  // namespace
}  // namespace tollgate
