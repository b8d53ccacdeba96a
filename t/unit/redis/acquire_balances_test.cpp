// Balances: what is left of them is stored, and what is missing to the largest balance is counted.

#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

class AcquireScriptBalances : public AcquireScript {
  protected:
    using AcquireScript::acquire_of;
    static Acquire acquire_of(const TableQuota& quota, std::int64_t count = 1) {
        Acquire acquire = acquire_of(Quotas{quota});
        acquire.count = count;
        return acquire;
    }
    static TableQuota balance() { return table("api", {Rate::balance()}); }
    static TableQuota beside_an_hour() { return table("api", {{10, kHour}, Rate::balance()}); }
    void credit(std::int64_t units) {
        const auto text = std::to_string(units);
        redis_->run({"HINCRBY", keys_.quota("k", "api"), "balance.left", text});
        redis_->run({"HINCRBY", keys_.quota("k", "api"), "balance.credited", text});
        redis_->run({"HSET", keys_.quota("k", "api"), "balance.last_credit", text});
    }
    std::string left() { return field("balance.left"); }
    std::int64_t lifetime() { return redis_->integer({"PTTL", keys_.quota("k", "api")}); }
};

TEST_F(AcquireScriptBalances, HaveNothingUntilTheyAreCredited) {
    const auto acquired = decide(acquire_of(balance()));
    EXPECT_EQ(acquired.granted, 0);
    EXPECT_EQ(acquired.windows[0], (WindowCount{kBalanceWindow, kMostBalance, 0}));
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.quota("k", "api")}), 0);
}

TEST_F(AcquireScriptBalances, AreSpentUnitByUnit) {
    credit(5);
    const auto acquired = decide(acquire_of(balance(), 3));
    EXPECT_EQ(acquired.granted, 3);
    EXPECT_EQ(acquired.windows[0].count, kMostBalance - 2);
    EXPECT_EQ(left(), "2");
    EXPECT_EQ(decide(acquire_of(balance(), 3)).granted, 2);
    EXPECT_EQ(left(), "0");
    EXPECT_EQ(lifetime(), -1) << "never expires";
}

TEST_F(AcquireScriptBalances, AreNotSpentByWhatAnotherWindowRefuses) {
    credit(100);
    EXPECT_EQ(decide(acquire_of(beside_an_hour(), 12)).granted, 10);
    EXPECT_EQ(left(), "90");
    EXPECT_EQ(count(kHour), 10);
    EXPECT_EQ(decide(acquire_of(beside_an_hour())).granted, 0);
    EXPECT_EQ(left(), "90");
    EXPECT_EQ(lifetime(), -1);
}

TEST_F(AcquireScriptBalances, AreKeptByAPlanWithoutThem) {
    credit(100);
    decide(acquire_of(table("api", {{10, kHour}})));
    EXPECT_EQ(lifetime(), -1);
    EXPECT_EQ(left(), "100");
}

TEST_F(AcquireScriptBalances, AreLeasedReportedAndRecalledAsWindows) {
    credit(800);
    Acquire acquire = acquire_of(balance());
    acquire.lease = 50;
    EXPECT_EQ(decide(acquire).lease, 50);
    EXPECT_EQ(left(), "749");
    Acquire report = acquire_of(balance(), 0);
    report.adjustments = {{kBalanceWindow, -40, 0}};
    report.report_numbers = {1};
    const auto reported = decide(report);
    EXPECT_EQ(left(), "789");
    EXPECT_EQ(reported.windows[0].count, kMostBalance - 789);
    decide(report);
    EXPECT_EQ(left(), "789") << "once";
    report.adjustments = {{kBalanceWindow, 800, 0}};
    report.report_numbers = {2};
    EXPECT_EQ(decide(report).windows[0].count, kMostBalance + 11);
    EXPECT_EQ(left(), "-11") << "requests have used more than they took";
    EXPECT_EQ(decide(acquire_of(balance())).granted, 0);
    credit(12);
    EXPECT_EQ(decide(acquire_of(balance(), 2)).granted, 1);
}

TEST_F(AcquireScriptBalances, AreNoStrike) {
    Acquire acquire = acquire_of(beside_an_hour());
    acquire.demand.ban = BanPolicy{.after = 1, .within = 1min, .first = 1h, .up_to = 1h};
    acquire.demand.refusals_strike = true;
    EXPECT_EQ(decide(acquire).granted, 0);
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.ban("k")}), 0);
    credit(100);
    acquire.count = 11;
    EXPECT_EQ(decide(acquire).granted, 10) << "of the hour";
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.ban("k")}), 1);
}

}  // namespace
}  // namespace tollgate::redis
