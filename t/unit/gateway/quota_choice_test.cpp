#include "module/core/quota_choice.hpp"

#include <gtest/gtest.h>

#include <array>

#include "module/core/parse_error.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

const Rate kMinute{60, 60s};
const Rate kDay{1000, 86400s};

PlanTable table(std::string name, std::vector<Plan> plans, std::string default_plan = "") {
    PlanTable table;
    table.name = std::move(name);
    table.plans = std::move(plans);
    table.default_plan = std::move(default_plan);
    return table;
}

const PlanTable kApi = table("api", {{"free", Plan::Kind::kLimited, {kMinute, kDay}, false},
                                     {"own", Plan::Kind::kCustom, {}, true},
                                     {"all", Plan::Kind::kUnlimited, {}, false}});
const PlanTable kSearch = table(
    "search",
    {{"free", Plan::Kind::kLimited, {kMinute}, true}, {"all", Plan::Kind::kUnlimited, {}, false}},
    "free");

KeyRecord key(std::string plan, std::string limits = "") {
    KeyRecord record;
    record.id = "k1";
    record.plan = std::move(plan);
    record.limits = std::move(limits);
    return record;
}

TEST(ChooseQuotas, GivesEachTablesPlan) {
    const auto quotas = choose_quotas(std::array{&kApi, &kSearch}, key("free"));
    ASSERT_TRUE(quotas);
    ASSERT_EQ(quotas->size(), 2U);
    EXPECT_EQ((*quotas)[0].table, "api");
    EXPECT_EQ((*quotas)[0].rates, (std::vector{kMinute, kDay}));
    EXPECT_EQ((*quotas)[0].plan, "api-free") << "two tables have a plan of this name";
    EXPECT_EQ((*quotas)[1].plan, "search-free");
    EXPECT_TRUE((*quotas)[1].sliding);
}

TEST(ChooseQuotas, CallsTheOnlyTablesPolicyAfterThePlan) {
    EXPECT_EQ(choose_quotas(std::array{&kApi}, key("free"))->front().plan, "free");
}

TEST(ChooseQuotas, HasNoPlaceForAPlanThatATableDoesNotName) {
    EXPECT_FALSE(choose_quotas(std::array{&kApi}, key("pro")));
    EXPECT_FALSE(choose_quotas(std::array{&kSearch, &kApi}, key("pro")));
}

TEST(ChooseQuotas, TakesTheDefaultForOtherPlans) {
    const auto quotas = choose_quotas(std::array{&kSearch}, key("pro"));
    ASSERT_TRUE(quotas);
    EXPECT_EQ(quotas->front().plan, "free");
}

TEST(ChooseQuotas, LeavesOutWhatIsUnlimited) {
    EXPECT_TRUE(choose_quotas(std::array{&kApi, &kSearch}, key("all"))->empty());
}

TEST(ChooseQuotas, TakesCustomLimitsFromTheRecord) {
    const auto quotas = choose_quotas(std::array{&kApi}, key("own", "5000r/m"));
    ASSERT_TRUE(quotas);
    EXPECT_EQ(quotas->front().rates, (std::vector<Rate>{{5000, 60s}}));
    EXPECT_TRUE(quotas->front().sliding);
    EXPECT_THROW(choose_quotas(std::array{&kApi}, key("own", "many")), ParseError);
    EXPECT_THROW(choose_quotas(std::array{&kApi}, key("own")), ParseError);
}

TEST(PolicyName, JoinsPlanAndPeriod) {
    EXPECT_EQ(policy_name("free", 60s), "free-minute");
    EXPECT_EQ(policy_name("free", 900s), "free-15-minutes");
}

}  // namespace
}  // namespace tollgate
