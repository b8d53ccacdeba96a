#include "module/plan/limits.hpp"

#include <gtest/gtest.h>

#include "module/plan/plan.hpp"
#include "module/plan/table_quota.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;
using PlanWords = std::vector<std::string_view>;

TEST(Limits, HaveRatesAndRequestsInFlight) {
    const Limits limits = parse_limits("in_flight=5 1000r/d 60r/m");
    EXPECT_EQ(limits.rates, (std::vector<Rate>{{60, 60s}, {1000, 86400s}}));
    EXPECT_EQ(limits.in_flight, 5);
    EXPECT_EQ(format_limits(limits), "60r/m 1000r/d in_flight=5");
    EXPECT_EQ(parse_limits("60r/m").in_flight, 0);
}

TEST(Limits, MayBeOfRequestsInFlightAlone) {
    for (const auto* text : {"unlimited in_flight=3", "in_flight=3 unlimited"}) {
        const Limits limits = parse_limits(text);
        EXPECT_TRUE(limits.rates.empty()) << text;
        EXPECT_EQ(limits.in_flight, 3) << text;
        EXPECT_EQ(format_limits(limits), "unlimited in_flight=3");
    }
    EXPECT_EQ(format_limits(parse_limits("unlimited")), "unlimited");
    for (const auto* text : {"unlimited 60r/m", "unlimited unlimited", "unlimited burst=2", ""}) {
        EXPECT_THROW(parse_limits(text), ParseError) << text;
    }
}

TEST(Limits, RefuseAnInvalidNumberOfRequestsInFlight) {
    for (const auto* text :
         {"60r/m in_flight=", "60r/m in_flight=0", "60r/m in_flight=-1", "60r/m in_flight=1000001",
          "60r/m in_flight=5 in_flight=5", "60r/m in_flight=5x", "in_flight=5"}) {
        EXPECT_THROW(parse_limits(text), ParseError) << text;
    }
}

TEST(ParsePlan, ReadsInFlightInAnyPlaceAfterTheName) {
    EXPECT_EQ(parse_plan(PlanWords{"p", "60r/m", "in_flight=20"}).in_flight, 20);
    EXPECT_EQ(parse_plan(PlanWords{"p", "in_flight=20", "60r/m", "window=sliding"}).in_flight, 20);
    EXPECT_EQ(parse_plan(PlanWords{"p", "unlimited", "in_flight=20"}).in_flight, 20);
    EXPECT_THROW(parse_plan(PlanWords{"p", "custom", "in_flight=20"}), ParseError);
    EXPECT_THROW(parse_plan(PlanWords{"p", "in_flight=20"}), ParseError);
}

TEST(ChooseQuotas, HasAQuotaForRequestsInFlightAlone) {
    PlanTable table;
    table.name = "exports";
    table.plans.push_back(parse_plan(PlanWords{"free", "unlimited", "in_flight=5"}));
    table.plans.push_back(parse_plan(PlanWords{"own", "custom"}));
    const std::array<const PlanTable*, 1> tables{&table};
    KeyRecord key;
    key.plan = "free";
    const auto quotas = choose_quotas(tables, key);
    ASSERT_TRUE(quotas && quotas->size() == 1);
    EXPECT_EQ(quotas->front().in_flight, 5);
    EXPECT_EQ(quotas->front().in_flight_policy, "free-in-flight");
    EXPECT_FALSE(have_limit(*quotas));
    key.plan = "own";
    key.limits = "60r/m in_flight=2";
    EXPECT_EQ(choose_quotas(tables, key)->front().in_flight, 2);
    key.limits = "unlimited in_flight=3";
    ASSERT_EQ(choose_quotas(tables, key)->size(), 1U);
    EXPECT_EQ(choose_quotas(tables, key)->front().in_flight, 3);
    EXPECT_FALSE(have_limit(*choose_quotas(tables, key)));
}

}  // namespace
}  // namespace tollgate
