// How many values of an id have a counter of their own in Redis, and what the others share.

#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

class AcquireScriptValues : public AcquireScript {
  protected:
    /// One request for a value, in a table in which two values have a counter.
    static Acquire acquire(std::string_view value,
                           std::vector<Rate> rates = {{3, kHour}, {9, kDay}},
                           bool sliding = false) {
        TableQuota quota = table("api", std::move(rates), sliding);
        quota.by = CountedBy::kValue;
        quota.value = ValueDigest::of(value);
        quota.most_values = 2;
        return acquire_of(Quotas{std::move(quota)});
    }
    std::string counter(std::string_view value) const {
        return keys_.quota("k", "api", ValueDigest::of(value).suffix());
    }
    std::string others() const { return keys_.quota("k", "api", ValueDigest::kOthersSuffix); }
    std::string text_at(const std::string& key, const std::string& name) {
        return redis_->text({"HGET", key, name});
    }
    long long keys() { return redis_->integer({"DBSIZE"}); }
};

TEST_F(AcquireScriptValues, FurtherValuesShareACounter) {
    for (const std::string_view value : {"a", "b", "a", "b"}) {
        EXPECT_EQ(decide(acquire(value)).granted, 1);
    }
    EXPECT_EQ(text_at(counter("a"), "360000.count"), "2");
    EXPECT_EQ(text_at(others(), "8640000.values"), "2");
    EXPECT_EQ(keys(), 3);
    for (const std::string_view value : {"c", "d", "e"}) {
        const auto acquired = decide(acquire(value));
        EXPECT_EQ(acquired.granted, 1);
        EXPECT_EQ(acquired.windows.size(), 2);
    }
    EXPECT_EQ(decide(acquire("f")).granted, 0) << "the shared counter has the same limit";
    EXPECT_EQ(decide(acquire("f")).windows.front().count, 3);
    EXPECT_EQ(text_at(others(), "360000.count"), "3");
    EXPECT_EQ(keys(), 3) << "no further key";
    EXPECT_EQ(decide(acquire("a")).granted, 1) << "others have their own";
    EXPECT_EQ(decide(acquire("b")).granted, 1);
}

TEST_F(AcquireScriptValues, OneCallMayHaveMany) {
    std::vector<Acquire> acquires;
    for (const std::string_view value : {"a", "b", "c", "d", "a", "e", "f"}) {
        acquires.push_back(acquire(value));
    }
    acquires.insert(acquires.begin() + 2, acquire_of({{1, kHour}}));
    std::int64_t granted = 0;
    for (const auto& result : decide(acquires)) {
        granted += std::get<Acquired>(result).granted;
    }
    EXPECT_EQ(granted, 7) << "three of the shared counter";
    EXPECT_EQ(text_at(counter("a"), "360000.count"), "2");
    EXPECT_EQ(text_at(others(), "360000.count"), "3");
    EXPECT_EQ(text_at(others(), "8640000.values"), "2");
}

TEST_F(AcquireScriptValues, OnlyACounterThatIsWrittenCounts) {
    Acquire look = acquire("a");
    look.demand.cost = 0;
    decide(look);
    Acquire too_much = acquire("a");
    too_much.demand.cost = 4;
    EXPECT_EQ(decide(too_much).granted, 0);
    EXPECT_EQ(keys(), 0);
    decide(acquire("b"));
    decide(acquire("c"));
    EXPECT_EQ(text_at(others(), "8640000.values"), "2");
    look = acquire("d");
    look.demand.cost = 0;
    EXPECT_EQ(decide(look).windows.front().count, 0) << "that of the shared counter";
    decide(acquire("e"));
    EXPECT_EQ(decide(look).windows.front().count, 1);
}

TEST_F(AcquireScriptValues, TheLongestWindowBeginsAnew) {
    const Instant day = window_end(500, kDay);
    set_clock(day + kHour);
    for (const std::string_view value : {"a", "b", "c"}) {
        decide(acquire(value));
    }
    set_clock(day + 2 * kHour);
    EXPECT_EQ(decide(acquire("d")).windows.front().count, 1) << "an hour is the shorter one";
    EXPECT_EQ(redis_->integer({"EXISTS", counter("d")}), 0);
    EXPECT_EQ(expiry(others()), day + kDay);
    set_clock(day + kDay + kHour);
    EXPECT_EQ(decide(acquire("d")).granted, 1);
    EXPECT_EQ(text_at(counter("d"), "8640000.count"), "1");
    EXPECT_EQ(text_at(others(), "8640000.values"), "1");
    decide(acquire("a"));
    EXPECT_EQ(text_at(others(), "8640000.values"), "2")
        << "a counter of the day before counts again";
    EXPECT_EQ(decide(acquire("b")).windows.back().count, 1) << "the shared one";
    EXPECT_EQ(expiry(others()), day + 2 * kDay);
    set_clock(day + kDay - kHour);
    EXPECT_EQ(decide(acquire("e")).windows.back().count, 2) << "the clock went back";
}

TEST_F(AcquireScriptValues, AWindowOfAnotherPlanHasItsOwnCount) {
    decide(acquire("a"));
    decide(acquire("b"));
    EXPECT_EQ(decide(acquire("c", {{9, kHour}})).windows.front().count, 1);
    EXPECT_EQ(text_at(others(), "360000.values"), "1");
    EXPECT_EQ(text_at(others(), "8640000.values"), "2");
    decide(acquire("d"));
    EXPECT_EQ(redis_->integer({"EXISTS", counter("d")}), 0) << "the other one is not forgotten";
}

TEST_F(AcquireScriptValues, NothingIsLeasedOfTheSharedCounter) {
    for (const std::string_view value : {"a", "b", "c"}) {
        Acquire lease = acquire(value, {{1000, kHour}, {10'000, kDay}});
        lease.lease = 10;
        const auto acquired = decide(lease);
        EXPECT_EQ(acquired.granted, 1);
        EXPECT_EQ(acquired.lease, value == "c" ? 0 : 10);
    }
    EXPECT_EQ(text_at(others(), "360000.count"), "1");
    EXPECT_EQ(redis_->integer({"HEXISTS", others(), "lease_node"}), 0);
}

TEST_F(AcquireScriptValues, AdjustmentsGoToTheCounterOfTheirWindow) {
    decide(acquire("a"));
    decide(acquire("b"));
    Acquire report = acquire("c");
    report.count = 0;
    report.adjustments = {{number(kHour), 2, 0}, {number(kDay), 2, 0}};
    report.report_numbers = {7};
    decide(report);
    EXPECT_EQ(text_at(others(), "360000.count"), "2") << "what was granted without Redis";
    decide(report);
    EXPECT_EQ(text_at(others(), "360000.count"), "2") << "once";
}

TEST_F(AcquireScriptValues, WhatAnEarlierWindowLeasedIsNotReturnedToTheSharedCounter) {
    for (const std::string_view value : {"a", "b", "c"}) {
        decide(acquire(value, {{9, kHour}}, true));
    }
    redis_->run({"HSET", others(), "360000.previous", "5"});
    Acquire report = acquire("d", {{9, kHour}}, true);
    report.count = 0;
    report.adjustments = {{number(kHour) - 1, -2, 0}};
    decide(report);
    EXPECT_EQ(text_at(others(), "360000.previous"), "5") << "the counter of d had it";
    report.adjustments = {{number(kHour), -1, 0}};
    decide(report);
    EXPECT_EQ(text_at(others(), "360000.count"), "0") << "a reservation of this window";
}

TEST_F(AcquireScriptValues, SlidingWindowsShareToo) {
    for (const std::string_view value : {"a", "b", "c", "d"}) {
        EXPECT_EQ(decide(acquire(value, {{3, kHour}}, true)).granted, 1);
    }
    EXPECT_EQ(text_at(others(), "360000.count"), "2");
    EXPECT_EQ(keys(), 3);
    EXPECT_GE(redis_->integer({"PTTL", others()}), redis_->integer({"PTTL", counter("a")}) - 5);
}

TEST_F(AcquireScriptValues, ACounterOfAnotherTypeIsAnError) {
    redis_->run({"SET", others(), "text"});
    const auto results = decide(std::vector{acquire("a")});
    EXPECT_TRUE(std::holds_alternative<std::string_view>(results[0]));
    EXPECT_EQ(keys(), 1) << "nothing is counted";
}

}  // namespace
}  // namespace tollgate::redis
