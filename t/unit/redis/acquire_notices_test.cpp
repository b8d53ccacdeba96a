// Windows that reach a level are noticed.

#include <algorithm>
#include <map>

#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

class AcquireScriptNotices : public AcquireScript {
  protected:
    static TableQuota noticed(std::vector<Rate> rates, bool sliding = false) {
        TableQuota quota = table("api", std::move(rates), sliding);
        quota.notify = "80 100";
        return quota;
    }
    static Acquire acquire_of(TableQuota quota, std::int64_t count = 1) {
        Acquire acquire = AcquireScript::acquire_of(Quotas{std::move(quota)});
        acquire.count = count;
        return acquire;
    }
    static Acquire returning(const TableQuota& quota, std::int64_t number, std::int64_t units) {
        Acquire acquire = acquire_of(quota, 0);
        acquire.adjustments = {{number, -units, 0}};
        return acquire;
    }
    /// The entries of the stream, each as PERIOD:NUMBER LEVEL USED/LIMIT and, if it has them, the
    /// value and the end of the month.
    std::vector<std::string> notices() {
        const auto reply = redis_->run({"XRANGE", keys_.notices(), "-", "+"});
        std::vector<std::string> entries;
        for (const auto* entry : elements_of(*reply)) {
            std::map<std::string, std::string> fields;
            const auto elements = elements_of(*entry->element[1]);
            for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
                fields[std::string(text_of(*elements[i]))] = text_of(*elements[i + 1]);
            }
            EXPECT_EQ(fields["id"], "k");
            EXPECT_EQ(fields["table"], "api");
            entries.push_back(fields["period"] + ":" + fields["number"] + " " + fields["level"] +
                              " " + fields["used"] + "/" + fields["limit"] +
                              (fields["value"].empty() ? "" : " " + fields["value"]) +
                              (fields["ends"].empty() ? "" : " ends " + fields["ends"]) +
                              (fields["again"].empty() ? "" : " again"));
        }
        return entries;
    }
    std::string window(std::chrono::seconds period, std::int64_t after = 0) const {
        return std::to_string(period.count()) + ":" + std::to_string(number(period) + after);
    }
    using Entries = std::vector<std::string>;
};

TEST_F(AcquireScriptNotices, AreAppendedOncePerWindowAndLevel) {
    const TableQuota quota = noticed({{10, kHour}, {1000, kDay}});
    decide(acquire_of(quota, 7));
    EXPECT_EQ(notices(), Entries());
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.notices()}), 0);
    decide(acquire_of(quota));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10"}));
    decide(acquire_of(quota));
    EXPECT_EQ(notices().size(), 1U);
    decide(acquire_of(quota, 5));
    decide(acquire_of(quota, 5));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10", window(kHour) + " 100 10/10"}));
    EXPECT_EQ(field("360000.noticed"), std::to_string(number(kHour)) + ":100/10");
    EXPECT_EQ(field("8640000.noticed"), "");
    EXPECT_GT(redis_->integer({"PTTL", keys_.notices()}), 6 * 86'400'000);
}

TEST_F(AcquireScriptNotices, OfAllLevelsThatOneAcquireReaches) {
    decide(acquire_of(noticed({{10, kHour}}), 10));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 10/10", window(kHour) + " 100 10/10"}));
}

TEST_F(AcquireScriptNotices, AReservationIsNotUsedYet) {
    for (const auto& rates :
         {std::vector<Rate>{{100, kHour}, {1000, kDay}}, std::vector<Rate>{{100, kHour}},
          std::vector<Rate>{{100, kHour}, {500, kDay}, {1000, kWeek}}}) {
        redis_->run({"FLUSHALL"});
        const TableQuota quota = noticed(rates);
        Acquire reserves = acquire_of(quota);
        reserves.demand.cost = {80, true};
        EXPECT_EQ(decide(reserves).granted, 1);
        EXPECT_EQ(notices(), Entries()) << "nothing is used yet";
        // 12 are used in the end.
        Acquire settles = acquire_of(quota, 0);
        settles.adjustments = std::vector<Adjustment>(rates.size());
        for (std::size_t i = 0; i < rates.size(); ++i) {
            settles.adjustments[i] = {number(rates[i].period.length()), -68, 0};
        }
        settles.report_numbers = {1};
        decide(settles);
        EXPECT_EQ(notices(), Entries());
        reserves.demand.cost = {70, true};
        decide(reserves);
        EXPECT_EQ(notices(), Entries()) << "12 were used before";
        decide(acquire_of(quota, 0));
        EXPECT_EQ(notices(), Entries({window(kHour) + " 80 82/100"})) << "all of it was used";
    }
}

TEST_F(AcquireScriptNotices, ALevelThatIsNotReachedAnyMoreIsNoticedAgain) {
    set_clock(start_);
    const TableQuota quota = noticed({{100, kHour}});
    decide(acquire_of(quota, 85));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 85/100"}));
    Acquire refunds = acquire_of(quota, 0);
    refunds.adjustments = {{number(kHour), -70, 0}};
    refunds.report_numbers = {1};
    decide(refunds);
    const std::string mark = field("360000.noticed");
    EXPECT_TRUE(mark.starts_with(std::to_string(number(kHour)) + ":80/100@")) << mark;
    decide(acquire_of(quota, 70));
    EXPECT_EQ(notices().size(), 1U) << "but not at once";
    redis_->run(
        {"HSET", keys_.quota("k", "api"), "360000.noticed",
         mark.substr(0, mark.find('@') + 1) + std::to_string(start_.time_since_epoch().count())});
    decide(acquire_of(quota, 0));
    EXPECT_EQ(notices(),
              Entries({window(kHour) + " 80 85/100", window(kHour) + " 80 85/100 again"}));
    EXPECT_EQ(field("360000.noticed"), std::to_string(number(kHour)) + ":80/100");
    decide(acquire_of(quota, 0));
    EXPECT_EQ(notices().size(), 2U);
}

TEST_F(AcquireScriptNotices, OnlyALevelThatWasLeftIsNoticedAgain) {
    // The mark of 100 per cent stands for 80 per cent, too. The time of repetitions comes at once.
    for (const auto& [refund, again] : std::vector<std::pair<std::int64_t, std::string>>{
             {15, "100 100/100 again"}, {50, "80 100/100 again"}}) {
        redis_->run({"FLUSHALL"});
        set_clock(start_);
        const TableQuota quota = noticed({{100, kHour}});
        decide(acquire_of(quota, 100));
        ASSERT_EQ(notices().size(), 2U);
        Acquire refunds = acquire_of(quota, 0);
        refunds.adjustments = {{number(kHour), -refund, 0}};
        refunds.report_numbers = {1};
        decide(refunds);
        redis_->run({"HSET", keys_.quota("k", "api"), "360000.noticed",
                     std::regex_replace(field("360000.noticed"), std::regex("@[0-9]+"),
                                        "@" + std::to_string(start_.time_since_epoch().count()))});
        decide(acquire_of(quota, refund));
        ASSERT_GE(notices().size(), 3U);
        EXPECT_EQ(notices().at(2), window(kHour) + " " + again);
    }
}

TEST_F(AcquireScriptNotices, BeginAgainInTheNextWindow) {
    put(kHour, 1, 10);
    redis_->run({"HSET", keys_.quota("k", "api"), "360000.noticed",
                 std::to_string(number(kHour) - 1) + ":100/10"});
    const TableQuota quota = noticed({{10, kHour}});
    decide(acquire_of(quota));
    EXPECT_EQ(notices(), Entries());
    decide(acquire_of(quota, 7));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10"}));
}

TEST_F(AcquireScriptNotices, AreNotRepeatedAfterUnitsWereReturned) {
    const TableQuota quota = noticed({{100, kHour}, {1000, kDay}});
    Acquire leasing = acquire_of(quota, 79);
    leasing.lease = 2;
    EXPECT_EQ(decide(leasing).lease, 2);
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 81/100"}));
    Acquire back = acquire_of(quota, 0);
    back.adjustments = {{number(kHour), -2, 0}, {number(kDay), -2, 0}};
    decide(back);
    EXPECT_EQ(count(kHour), 79);
    decide(acquire_of(quota));
    EXPECT_EQ(count(kHour), 80);
    EXPECT_EQ(notices().size(), 1U);
}

TEST_F(AcquireScriptNotices, OfAHigherLimitInTheSameWindow) {
    const TableQuota before = noticed({{10, kHour}});
    const TableQuota after = noticed({{20, kHour}});
    decide(acquire_of(before, 8));
    decide(acquire_of(after, 7));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10"}));
    decide(acquire_of(after));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10", window(kHour) + " 80 16/20"}));
    EXPECT_EQ(field("360000.noticed"), std::to_string(number(kHour)) + ":80/20");
    decide(acquire_of(after, 4));
    EXPECT_EQ(notices().size(), 3U);
    EXPECT_EQ(notices().back(), window(kHour) + " 100 20/20");
}

TEST_F(AcquireScriptNotices, OfNodesWithDifferentLimitsAreNotRepeated) {
    const TableQuota low = noticed({{10, kHour}});
    const TableQuota high = noticed({{20, kHour}});
    decide(acquire_of(low, 10));
    decide(acquire_of(high, 6));
    EXPECT_EQ(notices().size(), 3U);
    EXPECT_EQ(field("360000.noticed"), std::to_string(number(kHour)) + ":80/20 100/10");
    for (int i = 0; i < 3; ++i) {
        decide(acquire_of(low));
        decide(acquire_of(high, 0));
    }
    EXPECT_EQ(notices().size(), 3U);
}

TEST_F(AcquireScriptNotices, OfALowerLimitTellThatItIsReached) {
    decide(acquire_of(noticed({{20, kHour}}), 16));
    decide(acquire_of(noticed({{10, kHour}})));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 16/20", window(kHour) + " 100 16/10"}));
}

TEST_F(AcquireScriptNotices, OfReportedUnits) {
    Acquire owed = returning(noticed({{10, kHour}}), number(kHour), -9);
    owed.report_numbers = {1};
    decide(owed);
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 9/10"}));
    decide(owed);
    EXPECT_EQ(count(kHour), 9);
    EXPECT_EQ(notices().size(), 1U);
}

TEST_F(AcquireScriptNotices, OfASlidingWindowCountThePartOfThePreviousOne) {
    const auto begin = window_end(number(kHour), kHour);
    set_clock(begin - 1s);
    const TableQuota quota = noticed({{10, kHour}}, true);
    decide(acquire_of(quota, 7));
    set_clock(begin + kHour / 2);
    decide(acquire_of(quota, 4));
    EXPECT_EQ(notices(), Entries({window(kHour, 1) + " 80 8/10"}));
}

TEST_F(AcquireScriptNotices, OfAMonthButNotOfABucket) {
    constexpr Period kMonth = Period::month({.day = 15});
    TableQuota quota = noticed({{1, 1s}, {10, kMonth}});
    quota.rates.front().burst = 10;
    decide(acquire_of(quota, 10));
    const auto number = window_number(start_, kMonth);
    const auto month = "month:" + std::to_string(number);
    const auto ends =
        " ends " + std::to_string(window_end(number, kMonth).time_since_epoch().count());
    EXPECT_EQ(notices(), Entries({month + " 80 10/10" + ends, month + " 100 10/10" + ends}));
}

TEST_F(AcquireScriptNotices, OfTheCounterOfAValue) {
    TableQuota quota = noticed({{10, kHour}});
    quota.value = ValueDigest::of("blue");
    decide(acquire_of(quota, 8));
    EXPECT_EQ(notices(),
              Entries({window(kHour) + " 80 8/10 " + std::string(quota.value.suffix().substr(1))}));
}

TEST_F(AcquireScriptNotices, ThatRedisRefusesAreAppendedLater) {
    const TableQuota quota = noticed({{10, kHour}});
    redis_->run({"SET", keys_.notices(), "no stream"});
    EXPECT_EQ(decide(acquire_of(quota, 9)).granted, 9);
    EXPECT_EQ(field("360000.noticed"), "");
    redis_->run({"DEL", keys_.notices()});
    decide(acquire_of(quota, 0));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 9/10"}));
}

TEST_F(AcquireScriptNotices, OfEachIdAndTableOfACall) {
    const TableQuota quota = noticed({{10, kHour}, {20, kDay}});
    TableQuota counted = noticed({{30, kHour}});
    counted.table = "search";
    counted.history = std::chrono::days(30);
    counted.rates.push_back({kNoLimit, 24h});
    std::ranges::sort(counted.rates, {}, &Rate::period);
    const auto with = [](Quotas quotas, std::int64_t count) {
        Acquire acquire = AcquireScript::acquire_of(std::move(quotas));
        acquire.count = count;
        return acquire;
    };
    const TableQuota plain = table("plain", {{10, kHour}, {20, kDay}});
    decide(std::vector{with({plain}, 10), with({counted}, 1), with({quota}, 8), with({plain}, 1)});
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10"}));
}

}  // namespace
}  // namespace tollgate::redis
