#include "module/quota/cost_settlement.hpp"

#include <gtest/gtest.h>

#include "module/quota/lease.hpp"
#include "module/quota/owed_units.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow(1'800'000'030'000ms);
constexpr std::int64_t kCountedMinute = kNow.time_since_epoch() / 60s;
constexpr std::int64_t kCountedDay = kNow.time_since_epoch() / 86400s;

class CostSettlement : public testing::Test {
  protected:
    CostSettlement() {
        TableQuota quota;
        quota.table = "api";
        quota.rates = {{100, 60s}, {1000, 86400s}};
        quotas_ = {quota};
        state().windows[0].counted = {.number = kCountedMinute, .count = 40};
        state().windows[1].counted = {.number = kCountedDay, .count = 400};
        state().counted_at = kNow;
        counting_ = counting_windows(states_, quotas_, {1s, kNow, kNow, kNow});
    }

    QuotaState& state() { return states_.front(); }
    void settle(std::int64_t units, bool is_recalled = false) {
        settle_cost(states_, quotas_, counting_, 0, units, is_recalled, {1s, kNow, kNow, kNow});
    }
    void expect_owed(std::int64_t minute, std::int64_t day) {
        EXPECT_EQ(state().windows[0].owed, minute);
        EXPECT_EQ(state().windows[1].owed, day);
    }
    Acquire report(std::uint64_t* last_report) {
        return prepare(states_, quotas_, {}, 0, 0, {1s, kNow, kNow, kNow}, last_report);
    }
    void begin_next_minute() {
        state().windows[0].counted = {.number = kCountedMinute + 1, .count = 1};
    }

    std::vector<QuotaState> states_{1};
    Quotas quotas_;
    WindowCounts counting_;
};

TEST_F(CostSettlement, OwesTheDifferenceInEachWindow) {
    settle(7);
    expect_owed(7, 7);
    EXPECT_EQ(state().counts.noted, 7);
    settle(-10);
    expect_owed(-3, -3);
    EXPECT_EQ(state().counts.refunded, 10);
}

TEST_F(CostSettlement, ARefundBecomesAPartOfTheLease) {
    state().lease = 5;
    settle(-4);
    EXPECT_EQ(state().lease, 9);
    expect_owed(0, 0);
    EXPECT_EQ(state().counts.refunded, 4);
}

TEST_F(CostSettlement, ARefundOfARecalledIdIsReturned) {
    state().lease = 5;
    settle(-4, true);
    EXPECT_EQ(state().lease, 5);
    expect_owed(-4, -4);
}

TEST_F(CostSettlement, AChargeIsTakenFromALeaseThatHasEnough) {
    state().lease = 5;
    settle(5);
    EXPECT_EQ(state().lease, 0);
    EXPECT_EQ(state().counts.spent, 5);
    expect_owed(0, 0);
    state().lease = 5;
    settle(6);
    EXPECT_EQ(state().lease, 5);
    EXPECT_EQ(state().counts.noted, 6);
    expect_owed(6, 6);
}

TEST_F(CostSettlement, ARefundIsReportedUntilRedisAcknowledgesIt) {
    settle(-4);
    std::uint64_t last_report = 6;
    const Acquire lost = report(&last_report);
    EXPECT_EQ(lost.report_numbers, std::vector<std::uint64_t>{7});
    EXPECT_EQ(lost.adjustments.front().units, -4);
    restore(states_, quotas_, lost, AcquireFailure::kUnknown);
    settle(-3);
    const Acquire repeated = report(&last_report);
    EXPECT_EQ(repeated.report_numbers, std::vector<std::uint64_t>{7});
    EXPECT_EQ(repeated.adjustments.front().units, -4) << "the report is unchanged";
    acknowledge(states_, quotas_, repeated, counting_);
    const Acquire next = report(&last_report);
    EXPECT_EQ(next.report_numbers, std::vector<std::uint64_t>{8});
    EXPECT_EQ(next.adjustments.front().units, -3);
    acknowledge(states_, quotas_, next, counting_);
    EXPECT_EQ(state().counts.refunded, 7);
    EXPECT_EQ(state().counts.returned, 7);
    EXPECT_EQ(state().counts.lost, 0);
    EXPECT_FALSE(is_held(state()));
}

TEST_F(CostSettlement, AReportedRefundIsNotGrantedBeforeRedisAcknowledgesIt) {
    settle(-4);
    EXPECT_EQ(granted_in(state(), 0).count, 36);
    std::uint64_t last_report = 0;
    report(&last_report);
    EXPECT_EQ(granted_in(state(), 0).count, 40) << "the counts may already contain the report";
}

TEST_F(CostSettlement, ALeaseThatIsReturnedNeedsNoReport) {
    settle(-4);
    settle(4);
    state().lease = 5;
    return_lease(state(), quotas_.front());
    std::uint64_t last_report = 0;
    EXPECT_EQ(report(&last_report).report_numbers, std::vector<std::uint64_t>{0});
}

TEST_F(CostSettlement, AWindowThatHasEndedIsNotChanged) {
    begin_next_minute();
    state().lease = 5;
    settle(-4);
    EXPECT_EQ(state().lease, 5) << "the lease belongs to the next window";
    expect_owed(0, -4);
    settle(6);
    expect_owed(0, 2);
}

TEST_F(CostSettlement, UnitsOfTheLongestWindowThatHasEndedAreDropped) {
    state().windows[1].counted.number = kCountedDay + 1;
    begin_next_minute();
    settle(-4);
    expect_owed(0, 0);
    EXPECT_EQ(state().counts.refunded, 4);
    EXPECT_EQ(state().counts.lost, 4);
    settle(3);
    EXPECT_EQ(state().counts.noted, 3);
    EXPECT_EQ(state().counts.lapsed, 3);
}

TEST_F(CostSettlement, TheDayOfAHistoryIsChangedAfterItsEnd) {
    quotas_.front().history = std::chrono::days(30);
    state().windows[1].counted.number = kCountedDay + 1;
    begin_next_minute();
    settle(-4);
    expect_owed(0, 0);
    EXPECT_EQ(state().windows[1].owed_previous, -4);
    EXPECT_EQ(state().counts.lost, 0);
}

TEST_F(CostSettlement, ThePreviousSlidingWindowIsChanged) {
    quotas_.front().sliding = true;
    begin_next_minute();
    settle(-4);
    expect_owed(0, -4);
    EXPECT_EQ(state().windows[0].owed_previous, -4);
    state().windows[0].counted.number = kCountedMinute + 2;
    settle(-1);
    EXPECT_EQ(state().windows[0].owed_previous, -4) << "the one before that has no effect any more";
}

TEST_F(CostSettlement, UnitsSaturate) {
    for (int i = 0; i < 10; ++i) {
        settle(Units::kMost / 4);
    }
    expect_owed(Units::kMost, Units::kMost);
    settle(-1);
    expect_owed(Units::kMost - 1, Units::kMost - 1);
    for (int i = 0; i < 10; ++i) {
        settle(-Units::kMost);
    }
    expect_owed(-Units::kMost, -Units::kMost);
}

TEST_F(CostSettlement, ALeaseForWhichThereIsNoRoomIsReturned) {
    state().lease = kLargestSmallLimit + 5;
    keep_lease(state(), quotas_.front(), most_lease(quotas_.front()));
    EXPECT_EQ(state().lease, kLargestSmallLimit);
    EXPECT_EQ(state().counts.lost, 0);
    expect_owed(-5, -5);
    keep_lease(state(), quotas_.front(), most_lease(quotas_.front()));
    expect_owed(-5, -5);
}

TEST_F(CostSettlement, ARefundForWhichTheLeaseHasNoRoomIsOwed) {
    state().lease = kLargestSmallLimit - 5;
    settle(-6);
    EXPECT_EQ(state().lease, kLargestSmallLimit - 5);
    expect_owed(-6, -6);
    state().lease = 5;
    quotas_.front().rates.front().requests = kLargestSmallLimit + 1;
    settle(-2 * kLargestSmallLimit);
    EXPECT_EQ(state().lease, 2 * kLargestSmallLimit + 5) << "a large place has room";
}

TEST_F(CostSettlement, AStateOfALaterClockIsNotRestored) {
    state().windows[0].counted = {.number = kCountedMinute - 1, .count = 2};
    state().lease = 5;
    settle(-4);
    EXPECT_EQ(state().windows[0].counted.number, kCountedMinute - 1);
    EXPECT_EQ(state().lease, 5);
    expect_owed(0, -4);
}

TEST_F(CostSettlement, AStateThatWasEvictedOwesIt) {
    states_.front() = QuotaState{};
    settle(-4);
    expect_owed(-4, -4);
    EXPECT_EQ(state().windows[0].counted.number, kCountedMinute);
    EXPECT_EQ(state().counted_at, Instant{}) << "its counts are not those of Redis";
}

TEST_F(CostSettlement, WindowsThatHaveEndedCountNothing) {
    const Instant later = kNow + 60s;
    const auto counting = counting_windows(states_, quotas_, {1s, later, later, later});
    EXPECT_EQ(counting[0].number, kCountedMinute + 1);
    EXPECT_EQ(counting[1].number, kCountedDay);
}

TEST_F(CostSettlement, EachTableHasItsOwnWindows) {
    TableQuota hourly;
    hourly.table = "search";
    hourly.rates = {{50, 3600s}};
    quotas_.push_back(hourly);
    QuotaState second;
    second.windows[0].counted = {.number = kNow.time_since_epoch() / 3600s, .count = 3};
    second.counted_at = kNow;
    second.lease = 8;
    states_.push_back(second);
    counting_ = counting_windows(states_, quotas_, {1s, kNow, kNow, kNow});
    ASSERT_EQ(counting_.size(), 3U);
    settle(-2);
    expect_owed(-2, -2);
    EXPECT_EQ(states_[1].lease, 10);
    EXPECT_EQ(states_[1].windows[0].owed, 0);
}

}  // namespace
}  // namespace tollgate
