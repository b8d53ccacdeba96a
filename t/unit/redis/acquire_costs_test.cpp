// Requests that cost differently in the tables that decide them together.

#include <random>

#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

class AcquireScriptCosts : public AcquireScript {
  protected:
    static Acquire acquire_of_two(const Cost& cost, std::int64_t count = 1) {
        Acquire acquire = acquire_of(Quotas{table("requests", {{10, kHour}}),
                                            table("tokens", {{1000, kHour}, {3000, kDay}})});
        acquire.demand.cost = cost;
        acquire.count = count;
        return acquire;
    }
    static Cost costs(std::vector<QuotaCost> each) { return Cost(each); }
    std::pair<std::int64_t, std::int64_t> counts() {
        return {count(kHour, "requests"), count(kHour, "tokens")};
    }
    using Counts = std::pair<std::int64_t, std::int64_t>;
};

TEST_F(AcquireScriptCosts, EachTableCountsItsOwn) {
    const Acquire acquire = acquire_of_two(costs({{1}, {300}}), 2);
    const auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(counts(), Counts(2, 600));
    EXPECT_EQ(acquired.windows[0].count, 2);
    EXPECT_EQ(acquired.windows[1].count, 600);
    EXPECT_EQ(acquired.windows[2].count, 600);
    const auto rest = decide(acquire);
    EXPECT_EQ(rest.granted, 1) << "one more fits";
    EXPECT_EQ(rest.limited, 1);
    EXPECT_EQ(decide(acquire).granted, 0);
    EXPECT_EQ(counts(), Counts(3, 900));
}

TEST_F(AcquireScriptCosts, ATableThatCostsNothingRefusesAndCountsNothing) {
    decide(acquire_of_two(costs({{0}, {900}})));
    EXPECT_EQ(counts(), Counts(-1, 900));
    EXPECT_EQ(decide(acquire_of_two(costs({{2}, {0}}), 5)).granted, 5);
    EXPECT_EQ(counts(), Counts(10, 900));
    EXPECT_EQ(decide(acquire_of_two(costs({{0}, {100}}))).granted, 1) << "requests are spent";
    EXPECT_EQ(decide(acquire_of_two(costs({{0}, {1}}))).granted, 0);
    EXPECT_EQ(counts(), Counts(10, 1000));
}

TEST_F(AcquireScriptCosts, ATableThatIsChargedAtTheEndNeedsAUnit) {
    const Cost charged = costs({{1}, {0, true}});
    EXPECT_EQ(decide(acquire_of_two(charged, 2)).granted, 2);
    decide(acquire_of_two(costs({{0}, {999}})));
    EXPECT_EQ(decide(acquire_of_two(charged)).granted, 1) << "one is left";
    decide(acquire_of_two(costs({{0}, {1}})));
    EXPECT_EQ(decide(acquire_of_two(charged)).granted, 0);
    EXPECT_EQ(counts(), Counts(3, 1000));
}

TEST_F(AcquireScriptCosts, ALeaseHasSoManyStepsOfEachTable) {
    Acquire acquire = acquire_of_two(costs({{1}, {20}}));
    acquire.lease = 4;
    const auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 1);
    EXPECT_EQ(acquired.lease, 1) << "an eighth of the nine requests that are left";
    EXPECT_EQ(counts(), Counts(2, 40));
    EXPECT_TRUE(field(std::string(lease_field::kGrant), "tokens").ends_with(":40"));
    EXPECT_TRUE(field(std::string(lease_field::kGrant), "requests").ends_with(":2"));
}

TEST_F(AcquireScriptCosts, ReportsAreInUnits) {
    decide(acquire_of_two(costs({{1}, {300}})));
    Acquire report = acquire_of_two(costs({{1}, {300}}), 0);
    report.adjustments = {{number(kHour), -1, 0}, {number(kHour), -50, 0}, {number(kDay), -50, 0}};
    report.report_numbers = {1, 1};
    decide(report);
    EXPECT_EQ(counts(), Counts(0, 250));
    EXPECT_EQ(count(kDay, "tokens"), 250);
}

// Any costs in any windows: all tables grant what the fullest one has room for.
TEST_F(AcquireScriptCosts, AnyCosts) {
    std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): repeatable
    const auto any = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution(least, most)(random);
    };
    for (int round = 0; round < 60; ++round) {
        redis_->run({"FLUSHALL"});
        Quotas quotas;
        for (const char* name : {"a", "b", "c"}) {
            TableQuota quota =
                table(name, {{any(5, 60), kHour}, {any(5, 90), kDay}}, any(0, 3) == 0);
            quota.history = std::chrono::days(any(0, 1));
            quotas.push_back(quota);
        }
        std::vector<std::int64_t> used(quotas.size());
        for (int request = 0; request < 12; ++request) {
            std::vector<QuotaCost> each;
            for (std::size_t i = 0; i < quotas.size(); ++i) {
                each.push_back({any(0, 6), any(0, 1) == 1});
            }
            Acquire acquire = acquire_of(quotas);
            acquire.demand.cost = Cost(each);
            acquire.count = any(1, 4);
            std::int64_t fitting = acquire.count;
            for (std::size_t i = 0; i < quotas.size(); ++i) {
                const std::int64_t left =
                    std::min(quotas[i].rates[0].requests, quotas[i].rates[1].requests) - used[i];
                fitting = each[i].units > 0       ? std::min(fitting, left / each[i].units)
                          : left < each[i].room() ? 0
                                                  : fitting;
            }
            const auto acquired = decide(acquire);
            ASSERT_EQ(acquired.granted, fitting) << "round " << round;
            for (std::size_t i = 0; i < quotas.size(); ++i) {
                used[i] += fitting * each[i].units;
                ASSERT_EQ(acquired.windows[2 * i].count, used[i]);
                ASSERT_EQ(acquired.windows[2 * i + 1].count, used[i]);
            }
        }
    }
}

}  // namespace
}  // namespace tollgate::redis
