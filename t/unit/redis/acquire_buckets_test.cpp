// Token buckets.

#include <random>

#include "module/plan/bucket.hpp"
#include "t/unit/quota/gcra_model.hpp"
#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

constexpr Rate kBucket{10, 1s, 20};
constexpr Rate kNoDayLimit{kNoLimit, kDay};

TEST_F(AcquireScript, GrantsFromABucketAsGcra) {
    std::mt19937 random(1);
    ExactInstant now = start_;
    for (int round = 0; round < 40; ++round) {
        redis_->run({"DEL", keys_.quota("k", "api")});
        now += 1h;
        const auto period = round % 3 == 0 ? 1s : round % 3 == 1 ? 60s : 86400s;
        const Rate rate{1 + static_cast<std::int64_t>(random() % 3000), period,
                        1 + static_cast<std::int64_t>(random() % (round % 2 == 0 ? 4 : 400))};
        GcraModel model(rate.requests, token_debt(rate), rate.burst);
        const auto step = static_cast<std::uint32_t>(
            std::clamp<std::int64_t>(4 * token_debt(rate) / rate.requests, 2, 4'000'000'000));
        std::int64_t of_day = 0;
        ExactInstant latest = now;
        for (int i = 0; i < 100; ++i) {
            const auto passed = std::chrono::microseconds(random() % step);
            // A clock that goes back by more than a minute is another case.
            latest = std::max(latest, now);
            now = random() % 20 == 0 ? std::max<ExactInstant>(now - passed, latest - 1min)
                                     : now + passed;
            set_exact_clock(now);
            Acquire acquire = acquire_of({rate, kNoDayLimit}, random() % 2 == 0);
            acquire.demand.cost = 1 + static_cast<std::int64_t>(random() % 5);
            acquire.count = 1 + static_cast<std::int64_t>(random() % 4);
            const std::int64_t us = now.time_since_epoch().count();
            std::int64_t granted = 0;
            while (granted < acquire.count && model.decide(us, acquire.demand.cost.steps())) {
                ++granted;
            }
            const auto acquired = decide(acquire);
            ASSERT_EQ(acquired.granted, granted) << format_rate(rate) << ", call " << i;
            of_day += granted * acquire.demand.cost.steps();
            ASSERT_EQ(acquired.windows[1].count, of_day);
            const auto& bucket = acquired.windows[0];
            const ExactInstant time{std::chrono::microseconds(bucket.previous)};
            if (granted < acquire.count && acquire.demand.cost.steps() <= rate.burst) {
                ASSERT_EQ(granted_at(rate, bucket.count, time, acquire.demand.cost.steps())
                              .time_since_epoch()
                              .count(),
                          model.first_granted(us, acquire.demand.cost.steps()));
            }
            if (granted == acquire.count) {
                ASSERT_EQ(field(std::to_string(period.count()) + ".debt"),
                          std::to_string(bucket.count));
            }
        }
    }
}

TEST_F(AcquireScript, ARefusedRequestTakesNoTokensAndNoUnits) {
    set_clock(start_);
    const Acquire burst = [&] {
        Acquire acquire = acquire_of({kBucket, {100, kDay}});
        acquire.count = 25;
        return acquire;
    }();
    auto acquired = decide(burst);
    EXPECT_EQ(acquired.granted, 20);
    EXPECT_EQ(acquired.limited, 5);
    EXPECT_EQ(acquired.windows[0].number, 10) << "its rate";
    EXPECT_EQ(acquired.windows[0].count, empty_debt(kBucket));
    EXPECT_EQ(acquired.windows[1].count, 20);
    const auto before = dirty();
    acquired = decide(burst);
    EXPECT_EQ(acquired.granted, 0);
    set_clock(start_ + 99ms);
    EXPECT_EQ(decide(burst).granted, 0);
    EXPECT_EQ(dirty(), before + 2) << "the test's clock";
    set_clock(start_ + 100ms);
    EXPECT_EQ(decide(burst).granted, 1);
    EXPECT_EQ(count(kDay), 21);
    // The day refuses: no token is taken.
    set_clock(start_ + 10s);
    Acquire lower = acquire_of({kBucket, {21, kDay}});
    EXPECT_EQ(decide(lower).granted, 0);
    EXPECT_EQ(decide(burst).granted, 20);
}

TEST_F(AcquireScript, ABucketAndWindowsOfSeveralTablesDecideTogether) {
    set_clock(start_);
    Acquire acquire = acquire_of(Quotas{table("api", {kBucket, {1, 1s, 15}, kNoDayLimit}),
                                        table("search", {{12, kHour}, {40, kDay}}, true)});
    acquire.count = 30;
    auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 12);
    EXPECT_EQ(acquired.windows[0].count, debt_of(kBucket, 12));
    EXPECT_EQ(acquired.windows[2].count, 12);
    EXPECT_EQ(acquired.windows[3].count, 12);
}

TEST_F(AcquireScript, AdjustsABucketOnce) {
    set_clock(start_);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 5;
    decide(acquire);
    acquire.count = 0;
    acquire.adjustments = {{10, debt_of(kBucket, 10), 0}, {number(kDay), 10, 0}};
    acquire.report_numbers = {3};
    set_clock(start_ + 100ms);
    EXPECT_EQ(decide(acquire).windows[0].count, debt_of(kBucket, 14)) << "one has refilled";
    EXPECT_EQ(decide(acquire).windows[0].count, debt_of(kBucket, 14)) << "the same report";
    EXPECT_EQ(count(kDay), 15);
    acquire.report_numbers = {4};
    acquire.adjustments[0].units = debt_of(kBucket, -20);
    EXPECT_EQ(decide(acquire).windows[0].count, 0) << "a bucket is never more than full";
    acquire.report_numbers = {5};
    acquire.adjustments[0].units = kMostDebt;
    EXPECT_EQ(decide(acquire).windows[0].count, kMostDebt);
    acquire.report_numbers = {6};
    EXPECT_EQ(decide(acquire).windows[0].count, kMostDebt) << "the largest debt";
}

TEST_F(AcquireScript, ASettlementRefillsABucketWhoseBurstIsNotKnown) {
    set_clock(start_);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 20;
    decide(acquire);
    Acquire settlement = acquire_of({{10, 1s, 1}, kNoDayLimit});
    settlement.count = 0;
    settlement.adjustments = {{10, debt_of(kBucket, 5), 0}, {number(kDay), 5, 0}};
    settlement.report_numbers = {1};
    set_clock(start_ + 1s);
    decide(settlement);
    acquire.count = 1;
    EXPECT_EQ(decide(acquire).windows[0].count, debt_of(kBucket, 16));
}

TEST_F(AcquireScript, ABucketGetsNoTokensIfTheClockGoesBack) {
    set_clock(start_);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 20;
    decide(acquire);
    set_clock(start_ - 30s);
    acquire.count = 1;
    EXPECT_EQ(decide(acquire).granted, 0);
    set_clock(start_ + 100ms);
    EXPECT_EQ(decide(acquire).granted, 1);
    // A time that is further ahead is that of a wrong clock: the bucket refills from now on.
    set_clock(start_ - 61s);
    EXPECT_EQ(decide(acquire).granted, 0);
    set_clock(start_ - 61s + 99ms);
    EXPECT_EQ(decide(acquire).granted, 0);
    set_clock(start_ - 61s + 100ms);
    EXPECT_EQ(decide(acquire).granted, 1);
}

TEST_F(AcquireScript, EachBucketRefillsAfterAWrongClock) {
    set_clock(start_);
    Acquire acquire = acquire_of({kBucket, {1, 60s, 20}, kNoDayLimit});
    acquire.count = 20;
    decide(acquire);
    // Also if a lease is wanted: the script then reads other fields first.
    for (const std::int64_t lease : {0, 10}) {
        set_clock(start_ - 1h);
        redis_->run({"HSET", keys_.quota("k", "api"), "1.time",
                     std::to_string(start_.time_since_epoch().count() * 1000)});
        acquire.count = 1;
        acquire.lease = lease;
        const auto refused = decide(acquire);
        EXPECT_EQ(refused.granted, 0);
        EXPECT_EQ(field("1.time"), std::to_string(refused.windows[0].previous));
        EXPECT_EQ(field("60.time"), std::to_string(refused.windows[1].previous));
        EXPECT_EQ(refused.windows[0].previous, (start_ - 1h).time_since_epoch().count() * 1000);
    }
    acquire.lease = 0;
    set_clock(start_ - 59min);
    EXPECT_EQ(decide(acquire).granted, 1) << "one token of the slower bucket";
}

TEST_F(AcquireScript, ABucketKeepsItsDebtIfItsRateOrBurstChanges) {
    set_clock(start_);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 20;
    decide(acquire);
    acquire.quotas = acquire_of({{10, 1s, 25}, kNoDayLimit}).quotas;
    EXPECT_EQ(decide(acquire).granted, 5);
    acquire.quotas = acquire_of({{2, 1s, 25}, kNoDayLimit}).quotas;
    set_clock(start_ + 1s);
    EXPECT_EQ(decide(acquire).granted, 2);
    acquire.quotas = acquire_of({{10, 1s}, kNoDayLimit}).quotas;
    EXPECT_EQ(decide(acquire).granted, 10) << "a window has a count of its own";
}

TEST_F(AcquireScript, ABucketIsKeptUntilItIsFull) {
    const auto key = keys_.quota("k", "api");
    const Instant day_ends = window_end(number(kDay), kDay);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 20;
    set_clock(day_ends - 1min);
    decide(acquire);
    EXPECT_EQ(expiry(key), day_ends);
    set_clock(day_ends - 1s);
    decide(acquire);
    EXPECT_GE(expiry(key), day_ends + 1s);
    // After costs that are known at the end, and after outages, it takes longer to be full.
    acquire.count = 0;
    acquire.adjustments = {{10, debt_of(kBucket, 10'000), 0}, {}};
    decide(acquire);
    EXPECT_GE(expiry(key), day_ends - 1s + 1000s);
}

}  // namespace
}  // namespace tollgate::redis
