#include "module/plan/cost_cut.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

class CostCut : public testing::Test {
  protected:
    CostCut() {
        requests_.name = "requests";
        tokens_.name = "tokens";
    }
    static Cost of(QuotaCost requests, QuotaCost tokens) {
        return Cost(std::array{requests, tokens});
    }
    static WindowState left(std::string_view table, std::int64_t remaining) {
        return {.rate = {100, 60s}, .remaining = remaining, .reset = {}, .table = table};
    }

    PlanTable requests_;
    PlanTable tokens_;
    std::array<const PlanTable*, 2> tables_{&requests_, &tokens_};
    static constexpr QuotaCost kTokens{.units = 40, .settles = true, .least = 10};
};

TEST_F(CostCut, TakesWhatIsLeftInTheFullestWindowOfTheTable) {
    const std::array windows{left("requests", 7), left("tokens", 30), left("tokens", 20)};
    EXPECT_EQ(cut_to_rest(of({1}, kTokens), tables_, windows),
              of({1}, {.units = 20, .settles = true, .least = 10}));
}

TEST_F(CostCut, NotIfLessThanTheLeastIsLeft) {
    EXPECT_EQ(cut_to_rest(of({1}, kTokens), tables_, std::array{left("tokens", 9)}), std::nullopt);
    EXPECT_TRUE(cut_to_rest(of({1}, kTokens), tables_, std::array{left("tokens", 10)}));
}

TEST_F(CostCut, NotIfAnotherTableHasRefused) {
    const std::array windows{left("requests", 0), left("tokens", 50)};
    EXPECT_EQ(cut_to_rest(of({1}, kTokens), tables_, windows), std::nullopt);
}

TEST_F(CostCut, ACostWithoutALeastIsNotCut) {
    EXPECT_EQ(cut_to_rest(of({5}, {40}), tables_, std::array{left("tokens", 30)}), std::nullopt);
    EXPECT_FALSE(of({5}, {40}).can_be_cut());
    EXPECT_TRUE(of({5}, kTokens).can_be_cut());
    EXPECT_FALSE(of({5}, {.units = 10, .least = 10}).can_be_cut());
}

TEST_F(CostCut, ACostAboveALimitBecomesTheLimit) {
    TableQuota quota;
    quota.table = "tokens";
    quota.rates = {{30, 60s}, {100, 3600s}};
    EXPECT_EQ(cut_to_limits(of({1}, kTokens), tables_, {quota}).of(1).units, 30);
    quota.rates = {{5, 60s}};
    EXPECT_EQ(cut_to_limits(of({1}, kTokens), tables_, {quota}).of(1).units, 10) << "the least";
    EXPECT_EQ(cut_to_least(of({3}, kTokens), tables_), of({3}, {10, true, 10}));
}

TEST(Cost, IsUniformIfAllTablesCostTheSame) {
    EXPECT_TRUE(Cost(std::array{QuotaCost{3}, QuotaCost{3}}).is_uniform());
    const Cost different(std::array{QuotaCost{3}, QuotaCost{4}});
    EXPECT_FALSE(different.is_uniform());
    EXPECT_EQ(different, Cost(std::array{QuotaCost{3}, QuotaCost{4}}));
    EXPECT_NE(different, Cost(3));
    EXPECT_EQ(different.units_of_step_in_all(2), 7);
    EXPECT_EQ(Cost(3).units_of_step_in_all(2), 2) << "a unit of each";
}

TEST(Cost, ALeaseGrantsNothingThatIsChargedAtTheEndOnly) {
    EXPECT_TRUE(Cost(std::array{QuotaCost{1}, QuotaCost{0}}).can_be_leased());
    EXPECT_TRUE(Cost(std::array{QuotaCost{1}, QuotaCost{5, true}}).can_be_leased());
    EXPECT_FALSE(Cost(std::array{QuotaCost{1}, QuotaCost{0, true}}).can_be_leased());
    EXPECT_FALSE(Cost(0).can_be_leased());
}

}  // namespace
}  // namespace tollgate
