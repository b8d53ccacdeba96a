// What calls whose replies never came have counted is taken back, once, if nobody else has leased
// units since.

#include <random>

#include "t/unit/engine/redis_model.hpp"
#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

class LostCallsOfScript : public AcquireScript {
  protected:
    /// The node executes a call of this number, whose reply is lost.
    Acquired lose(Acquire acquire, std::uint64_t call, std::int64_t lease = 5) {
        acquire.lease = lease;
        context_.call = call;
        return decide(acquire);
    }
    /// An acquire of no request that names these calls in each table.
    Acquired name(Acquire acquire, std::initializer_list<std::uint64_t> calls,
                  std::int64_t count = 0) {
        acquire.count = count;
        LostCalls lost;
        for (const std::uint64_t call : calls) {
            lost.add(call, {});
        }
        acquire.lost_calls.assign(acquire.quotas->size(), lost);
        acquire.adjustments.resize(window_count(*acquire.quotas));
        context_.call = 0;
        return decide(acquire);
    }
    using TakenBack = std::vector<std::uint64_t>;
};

/// Tables of one window, of sliding ones, of many, and the most frequent ones: two fixed windows.
class TakesBack : public LostCallsOfScript, public testing::WithParamInterface<Quotas> {
  protected:
    static TableQuota of(std::vector<Rate> rates, bool sliding = false) {
        return table("api", std::move(rates), sliding);
    }
};
INSTANTIATE_TEST_SUITE_P(
    Quotas, TakesBack,
    testing::Values(
        Quotas{{.table = "api", .rates = {{1000, kHour}}}},
        Quotas{{.table = "api", .rates = {{1000, kHour}, {9000, kDay}}}},
        Quotas{{.table = "api", .rates = {{1000, kHour}, {9000, kDay}}, .sliding = true}},
        Quotas{{.table = "api", .rates = {{1000, kHour}, {9000, kDay}, {90'000, kWeek}}},
               {.table = "search", .rates = {{1000, kHour}, {9000, kDay}}}}));

TEST_P(TakesBack, WhatTheLastLeaseOfTheNodeHasCounted) {
    Acquire acquire = acquire_of(GetParam());
    const std::size_t tables = GetParam().size();
    decide(acquire);
    acquire.count = 3;
    EXPECT_EQ(lose(acquire, 7).lease, 5);
    EXPECT_EQ(count(kHour), 9);
    const Acquired acquired = name(acquire, {6, 7}, 2);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(acquired.taken_back, TakenBack(tables, 7));
    for (const WindowCount& window : acquired.windows) {
        EXPECT_EQ(window.count, 3);
    }
    EXPECT_EQ(count(kHour), 3);
    const auto before = dirty();
    EXPECT_EQ(name(acquire, {6, 7}).taken_back, TakenBack(tables, 0)) << "once";
    EXPECT_EQ(dirty(), before);
    EXPECT_EQ(count(kHour), 3);
    EXPECT_EQ(lose(acquire, 8).lease, 5) << "a later one";
    EXPECT_EQ(name(acquire, {7}).taken_back, TakenBack(tables, 0));
    EXPECT_EQ(name(acquire, {8}).taken_back, TakenBack(tables, 8));
    EXPECT_EQ(count(kHour), 3);
}

TEST_P(TakesBack, NothingThatSomebodyElseHasLeased) {
    Acquire acquire = acquire_of(GetParam());
    const TakenBack none(GetParam().size(), 0);
    lose(acquire, 7);
    lose(acquire, 8);
    EXPECT_EQ(name(acquire, {7}).taken_back, none) << "another call of the node";
    EXPECT_EQ(count(kHour), 12);
    context_.node = "n2";
    EXPECT_EQ(name(acquire, {8}).taken_back, none) << "the call of another node";
    lose(acquire, 8);
    context_.node = "n1";
    EXPECT_EQ(name(acquire, {7, 8}).taken_back, none) << "the lease of another node";
    EXPECT_EQ(count(kHour), 18);
}

TEST_P(TakesBack, NothingOfACallWithoutALease) {
    Acquire acquire = acquire_of(GetParam());
    acquire.count = 998;
    EXPECT_EQ(lose(acquire, 7).lease, 0);
    EXPECT_EQ(name(acquire, {7}).taken_back, TakenBack(GetParam().size(), 0));
    EXPECT_EQ(count(kHour), 998);
}

TEST_F(LostCallsOfScript, TakesNoMoreBackThanIsCounted) {
    const Acquire acquire = acquire_of({{1000, kHour}, {9000, kDay}});
    lose(acquire, 7);
    put(kHour, 0, 2);
    EXPECT_EQ(name(acquire, {7}).windows,
              (WindowCounts{{number(kHour), 0, 0}, {number(kDay), 0, 0}}));
}

TEST_F(LostCallsOfScript, TakesBackInWindowsThatRun) {
    for (const bool sliding : {false, true}) {
        redis_->run({"FLUSHALL"});
        const Acquire acquire = acquire_of({{1000, kHour}, {9000, kDay}}, sliding);
        const std::int64_t hour = number(kDay) * (kDay / kHour) + 50;  // within a day
        set_clock(window_end(hour - 1, kHour) + 1s);
        decide(acquire);
        lose(acquire, 7);
        set_clock(window_end(hour, kHour) + 1s);
        decide(acquire);
        const Acquired acquired = name(acquire, {7});
        EXPECT_EQ(acquired.taken_back, TakenBack{7});
        EXPECT_EQ(acquired.windows[0], (WindowCount{hour + 1, 1, sliding ? 1 : 0}));
        EXPECT_EQ(acquired.windows[1].count, 2);
        set_clock(window_end(hour + 2 * (kDay / kHour), kHour) + 1s);
        EXPECT_EQ(name(acquire, {7}, 1).windows[1].count, 1) << "all have ended";
    }
}

TEST_F(LostCallsOfScript, TakesBackInAMonth) {
    Acquire acquire = acquire_of({{1000, Period::month()}});
    set_clock(std::chrono::sys_days(2100y / 2 / 28) + 12h);
    lose(acquire, 7);
    EXPECT_EQ(name(acquire, {7}).windows[0].count, 0);
    lose(acquire, 8);
    set_clock(std::chrono::sys_days(2100y / 3 / 1));
    EXPECT_EQ(name(acquire, {8}, 1).windows[0].count, 1) << "of the next month";
}

TEST_F(LostCallsOfScript, TakesBackInTheHistory) {
    TableQuota counted = table("api", {{1000, 60s}, {kNoLimit, 24h}});
    counted.history = std::chrono::days(9);
    const Acquire acquire = acquire_of(Quotas{counted});
    const std::int64_t day = window_number(start_, 24h) + 3;
    const auto day_of_history = [&] {
        return redis_->text({"HGET", keys_.history("k"), "api:" + std::to_string(day)});
    };
    for (const bool is_moved : {false, true}) {
        redis_->run({"FLUSHALL"});
        set_clock(window_end(day, 24h) - 10s);
        decide(acquire);
        lose(acquire, 7);
        set_clock(window_end(day, 24h));
        if (is_moved) {
            decide(acquire);
            EXPECT_EQ(day_of_history(), "7");
        }
        EXPECT_EQ(name(acquire, {7}).windows[1].count, is_moved ? 1 : 0);
        EXPECT_EQ(day_of_history(), "1");
        name(acquire, {7});
        EXPECT_EQ(day_of_history(), "1");
    }
}

/// The clock went back: the units are in a window that has not begun yet.
TEST_F(LostCallsOfScript, LeavesAWindowToCome) {
    const Acquire acquire = acquire_of({{1000, kHour}, {9000, kDay}}, true);
    const Instant end = window_end(number(kHour), kHour);
    set_clock(end);
    decide(acquire);
    set_clock(end - 1s);
    decide(acquire);
    put(kHour, -1, 2, 9);
    lose(acquire, 7);
    EXPECT_EQ(name(acquire, {7}).taken_back, TakenBack{0});
    EXPECT_EQ(count(kHour), 8);
    EXPECT_EQ(field("360000.previous"), "9");
}

TEST_F(LostCallsOfScript, FailsAloneIfRedisRefuses) {
    Acquire acquire = acquire_of({{1000, kHour}});
    redis_->run({"SET", keys_.quota("k", "api"), "text"});
    acquire.lost_calls.resize(1);
    acquire.lost_calls[0].add(7, {});
    acquire.adjustments.resize(1);
    const auto results = decide(std::vector{acquire});
    ASSERT_TRUE(std::holds_alternative<std::string_view>(results[0]));
    EXPECT_TRUE(std::get<std::string_view>(results[0]).starts_with("WRONGTYPE"));
}

TEST_F(LostCallsOfScript, CountsAsTheModel) {
    std::mt19937 random(7);
    const auto any = [&](int most) { return std::uniform_int_distribution<>(0, most)(random); };
    const std::array<std::string, 3> nodes{"n1", "n2", "n3"};
    int taken_back = 0;
    for (int round = 0; round < 8; ++round) {
        redis_->run({"FLUSHALL"});
        const bool sliding = round % 2 == 1;
        Quotas quotas{table("api", {{300, kHour}, {900, kDay}}, sliding)};
        if (round % 4 > 1) {
            quotas.push_back(table("search", {{90, kHour}}, sliding));
        }
        Acquire asking = acquire_of(quotas);
        RedisModel model;
        Instant time = start_;
        for (std::uint64_t call = 1; call <= 60; ++call) {
            time += any(5) == 0 ? std::chrono::milliseconds(kHour) / 3 : 1ms;
            set_clock(time);
            context_.node = model.node = nodes.at(any(9) < 7 ? 0 : 1);
            context_.call = model.call = call;
            Acquire acquire = asking;
            acquire.count = any(3);
            acquire.lease = any(1) == 0 ? 0 : any(9);
            acquire.lost_calls.clear();
            if (any(2) == 0) {
                acquire.adjustments.resize(window_count(quotas));
                acquire.report_numbers.resize(quotas.size());
                acquire.lost_calls.resize(quotas.size());
                for (LostCalls& lost : acquire.lost_calls) {
                    lost.add(call - std::min<std::uint64_t>(call - 1, any(3)), {});
                }
            }
            const Acquired expected = model.run(acquire, time);
            const Acquired acquired = decide(acquire);
            EXPECT_EQ(acquired.granted, expected.granted);
            EXPECT_EQ(acquired.lease, expected.lease);
            for (std::size_t i = 0; i < acquired.windows.size(); ++i) {
                EXPECT_EQ(acquired.windows[i].count, expected.windows[i].count);
                EXPECT_EQ(acquired.windows[i].previous, sliding ? expected.windows[i].previous : 0);
            }
            for (std::size_t i = 0; i < acquired.taken_back.size(); ++i) {
                EXPECT_EQ(acquired.taken_back[i], expected.taken_back[i]);
                taken_back += acquired.taken_back[i] != 0 ? 1 : 0;
            }
        }
    }
    EXPECT_GT(taken_back, 20);
}

}  // namespace
}  // namespace tollgate::redis
