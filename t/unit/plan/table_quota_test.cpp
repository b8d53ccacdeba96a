#include "module/plan/table_quota.hpp"

#include <gtest/gtest.h>

#include <array>

#include "module/plan/plan_quotas.hpp"
#include "module/text/name_hash.hpp"
#include "module/text/parse_error.hpp"

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
    EXPECT_EQ((*quotas)[0].policies, (std::vector<std::string>{"api-free-minute", "api-free-day"}))
        << "two tables have a plan of this name";
    EXPECT_EQ((*quotas)[1].policies, std::vector<std::string>{"search-free-minute"});
    EXPECT_TRUE((*quotas)[1].sliding);
}

TEST(ChooseQuotas, CallsTheOnlyTablesPoliciesAfterThePlan) {
    EXPECT_EQ(choose_quotas(std::array{&kApi}, key("free"))->front().policies,
              (std::vector<std::string>{"free-minute", "free-day"}));
}

TEST(ChooseQuotas, HasNoPlaceForAPlanThatATableDoesNotName) {
    EXPECT_FALSE(choose_quotas(std::array{&kApi}, key("pro")));
    EXPECT_FALSE(choose_quotas(std::array{&kSearch, &kApi}, key("pro")));
}

TEST(ChooseQuotas, TakesTheDefaultForOtherPlans) {
    const auto quotas = choose_quotas(std::array{&kSearch}, key("pro"));
    ASSERT_TRUE(quotas);
    EXPECT_EQ(quotas->front().policies, std::vector<std::string>{"free-minute"})
        << "it is the default plan that holds";
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
    EXPECT_THROW(choose_quotas(std::array{&kApi}, key("own", "5000r/month")), ParseError)
        << "the plan slides";
}

TEST(ChooseQuotas, LetsANodeGrantAheadAsTheTableHasIt) {
    PlanTable strict = kApi;
    strict.lease_time = 0ms;
    const auto quotas =
        choose_quotas(std::array<const PlanTable*, 2>{&strict, &kSearch}, key("free"));
    ASSERT_TRUE(quotas);
    EXPECT_EQ((*quotas)[0].lease_time, 0ms);
    EXPECT_EQ((*quotas)[1].lease_time, kLeaseTime);
}

PlanTable with_history(PlanTable table) {
    table.history = std::chrono::days(90);
    return table;
}

TEST(ChooseQuotas, CountsADayForAHistory) {
    const PlanTable api = with_history(kApi);
    const PlanTable search = with_history(kSearch);
    const auto quotas = choose_quotas(std::array{&api, &search}, key("free"));
    ASSERT_TRUE(quotas);
    EXPECT_EQ((*quotas)[0].rates, (std::vector{kMinute, kDay})) << "the plan has a day";
    EXPECT_EQ((*quotas)[1].rates, (std::vector{kMinute, Rate{kNoLimit, 24h}}));
    EXPECT_EQ((*quotas)[1].policies, (std::vector<std::string>{"search-free-minute", ""}));
    for (const TableQuota& quota : *quotas) {
        EXPECT_EQ(quota.history, std::chrono::days(90));
        EXPECT_FALSE(keeps_history(quota, 0));
        EXPECT_TRUE(keeps_history(quota, 1));
        EXPECT_EQ(windows_adjusted(quota, 0), quota.sliding ? 1 : 0);
        EXPECT_EQ(windows_adjusted(quota, 1), 7);
    }
    EXPECT_TRUE(have_limit(*quotas));
    EXPECT_EQ(WindowLayout((*quotas)[0]),
              WindowLayout(choose_quotas(std::array{&kApi}, key("free"))->front()));
}

TEST(ChooseQuotas, CountsAnUnlimitedPlanForAHistory) {
    const PlanTable search = with_history(kSearch);
    const auto quotas = choose_quotas(std::array{&kApi, &search}, key("all"));
    ASSERT_TRUE(quotas);
    ASSERT_EQ(quotas->size(), 1) << "the other table keeps none";
    EXPECT_EQ(quotas->front().table, "search");
    EXPECT_EQ(quotas->front().rates, (std::vector<Rate>{{kNoLimit, 24h}}));
    EXPECT_FALSE(have_limit(*quotas));
    EXPECT_FALSE(have_limit({}));
}

TEST(ChooseQuotas, HasADayBetweenTheOthers) {
    const PlanTable own = with_history(table("own", {{"own", Plan::Kind::kCustom, {}, false}}));
    const auto rates_of = [&](const std::string& limits) {
        return choose_quotas(std::array{&own}, key("own", limits))->front().rates;
    };
    EXPECT_EQ(rates_of("1r/s 2r/m 3r/h 4r/2d"),
              (std::vector<Rate>{{1, 1s}, {2, 60s}, {3, 1h}, {kNoLimit, 24h}, {4, 48h}}));
    EXPECT_EQ(rates_of("1r/s 2r/m 3r/h 4r/2d").size(), kMaxWindows);
    EXPECT_EQ(rates_of("5r/month"), (std::vector<Rate>{{kNoLimit, 24h}, {5, Period::month()}}));
    EXPECT_EQ(rates_of("5r/24h").size(), 1);
}

PlanTable by_user(PlanTable table) {
    table.variable = "user";
    return table;
}

TEST(ChooseQuotas, CountsAllValuesForAHistory) {
    const PlanTable users = by_user(with_history(kApi));
    const auto quotas = choose_quotas(std::array{&users}, key("free"));
    ASSERT_TRUE(quotas);
    ASSERT_EQ(quotas->size(), 2);
    const TableQuota& all = quotas->front();
    EXPECT_EQ(all.by, CountedBy::kValues);
    EXPECT_EQ(all.rates, (std::vector<Rate>{{kNoLimit, 24h}}));
    EXPECT_EQ(all.policies, std::vector<std::string>{""});
    EXPECT_TRUE(keeps_history(all, 0));
    const TableQuota& each = quotas->back();
    EXPECT_EQ(each.by, CountedBy::kValue);
    EXPECT_EQ(each.rates, (std::vector{kMinute, kDay}));
    EXPECT_FALSE(each.has_history());
    EXPECT_EQ(choose_quotas(std::array{&users}, key("all"))->size(), 1) << "for the history";
    EXPECT_EQ(choose_quotas(std::array{&users}, key("own", "5r/m in_flight=2"))->back().in_flight,
              0);
}

TEST(WithValues, GivesEachTableItsValue) {
    const PlanTable users = by_user(with_history(kApi));
    const auto quotas = choose_quotas(std::array{&kSearch, &users}, key("free"));
    ASSERT_EQ(quotas->size(), 3);
    const Quotas alice = with_values(*quotas, std::array{TableValue{name_hash("api"), "alice"}});
    ASSERT_EQ(alice.size(), 3);
    EXPECT_FALSE(alice[0].value);
    EXPECT_FALSE(alice[1].value) << "all values";
    EXPECT_EQ(alice[2].value, ValueDigest::of("alice"));
    EXPECT_EQ(alice[2].policies, quotas->back().policies);
    const Quotas none = with_values(*quotas, std::array{TableValue{name_hash("api"), ""}});
    ASSERT_EQ(none.size(), 1) << "it is not counted in the table, and not in its history";
    EXPECT_EQ(none.front().table, "search");
}

WindowLayout layout_of_custom(const std::string& limits, bool sliding = false) {
    const PlanTable own = table("own", {{"own", Plan::Kind::kCustom, {}, sliding}});
    return WindowLayout(choose_quotas(std::array{&own}, key("own", limits))->front());
}

TEST(Layout, IsOneForTheSameWindowsHoweverTheyAreWrittenAndLimited) {
    EXPECT_EQ(layout_of_custom("60r/m"), layout_of_custom("61r/m"));
    EXPECT_EQ(layout_of_custom("60r/m 1000r/d"), layout_of_custom("1000r/24h 60r/60s"));
}

TEST(Layout, DiffersByPeriodNumberAndKindOfWindows) {
    const std::vector shapes{layout_of_custom("60r/m"),         layout_of_custom("60r/2m"),
                             layout_of_custom("60r/m 1000r/d"), layout_of_custom("60r/m", true),
                             layout_of_custom("6r/m 60r/h"),    layout_of_custom("60r/month"),
                             layout_of_custom("60r/2629746s")};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            EXPECT_NE(shapes[i], shapes[j]) << i << " and " << j;
        }
    }
}

TEST(Layout, IsThatOfThePlansWindowsWhoeversPlanItIs) {
    const PlanTable api = table("api", {{"free", Plan::Kind::kLimited, {kMinute}, false},
                                        {"pro", Plan::Kind::kLimited, {kMinute}, false}});
    EXPECT_EQ(WindowLayout(choose_quotas(std::array{&api}, key("free"))->front()),
              WindowLayout(choose_quotas(std::array{&api}, key("pro"))->front()));
}

TEST(ChooseQuotas, TakesThePlanOfTheGroupWhereATableCountsGroups) {
    const PlanTable api = table("api", {{"free", Plan::Kind::kLimited, {kMinute}, false}});
    PlanTable teams = table("teams", {{"pro", Plan::Kind::kLimited, {kMinute}, false},
                                      {"own", Plan::Kind::kCustom, {}, false}});
    teams.by_group = true;
    const std::array<const PlanTable*, 2> tables{&api, &teams};
    KeyRecord group = key("pro");
    const auto both = choose_quotas(tables, key("free"), &group);
    ASSERT_TRUE(both);
    ASSERT_EQ(both->size(), 2);
    EXPECT_EQ((*both)[0].by, CountedBy::kId);
    EXPECT_EQ((*both)[1].by, CountedBy::kGroup);
    EXPECT_EQ((*both)[1].value, ValueDigest::of_group());
    EXPECT_EQ((*both)[1].policies, std::vector<std::string>{"teams-pro-minute"});
    group.plan = "own";
    group.limits = "7r/h";
    EXPECT_EQ(choose_quotas(tables, key("free"), &group)->back().rates.front(), (Rate{7, 1h}));
    group.plan = "free";
    EXPECT_FALSE(choose_quotas(tables, key("free"), &group)) << "the group has no such plan";
    const auto alone = choose_quotas(tables, key("free"));
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->size(), 1) << "a key without a group is not counted there";
}

TEST(PlanQuotas, KnowsThoseOfEachPlanOfAKeyAndItsGroup) {
    const PlanTable api = table("api", {{"free", Plan::Kind::kLimited, {kMinute}, false}});
    PlanTable teams = table("teams", {{"pro", Plan::Kind::kLimited, {kMinute}, false},
                                      {"own", Plan::Kind::kCustom, {}, false}});
    teams.by_group = true;
    const std::array<const PlanTable*, 2> tables{&api, &teams};
    PlanQuotas quotas(tables);
    const KeyRecord pro = key("pro");
    KeyRecord own = key("own");
    own.limits = "7r/h";
    const auto alone = quotas.find(key("free"));
    const auto with_pro = quotas.find(key("free"), &pro);
    const auto with_own = quotas.find(key("free"), &own);
    EXPECT_EQ(alone->size(), 1);
    EXPECT_EQ(with_pro->size(), 2);
    EXPECT_EQ(with_own->back().rates.front(), (Rate{7, 1h}));
    EXPECT_EQ(quotas.find(key("free"), &pro), with_pro);
    EXPECT_EQ(quotas.find(key("free"), &own), with_own);
    own.limits = "8r/h";
    EXPECT_EQ(quotas.find(key("free"), &own)->back().rates.front(), (Rate{8, 1h}));
    EXPECT_EQ(quotas.find(key("free")), alone);
}

/// A plan may have the name of a day.
TEST(PlanQuotas, KnowsTheMonthsOfAKeyAndItsGroupApart) {
    const std::vector<Plan> plans{{"1", Plan::Kind::kLimited, {{10, Period::month()}}, false},
                                  {"15", Plan::Kind::kLimited, {{20, Period::month()}}, false}};
    const PlanTable api = table("api", plans);
    PlanTable teams = table("teams", plans);
    teams.by_group = true;
    const std::array<const PlanTable*, 2> tables{&api, &teams};
    std::vector<KeyRecord> records;
    for (const auto* const plan : {"1", "15"}) {
        for (const auto* const day : {"", "15", "15 1 2027-05-15"}) {
            records.push_back(key(plan));
            records.back().billing_day = day;
        }
    }
    PlanQuotas quotas(tables);
    const auto check = [&](const KeyRecord& of_key, const KeyRecord* of_group) {
        const auto expected = choose_quotas(tables, of_key, of_group);
        const auto found = quotas.find(of_key, of_group);
        ASSERT_EQ(found->size(), expected->size());
        for (std::size_t i = 0; i < found->size(); ++i) {
            EXPECT_EQ((*found)[i].rates, (*expected)[i].rates)
                << of_key.plan << " " << of_key.billing_day;
        }
    };
    for (const auto& of_key : records) {
        check(of_key, nullptr);
        for (const auto& of_group : records) {
            check(of_key, &of_group);
        }
    }
}

TEST(LayoutName, DiffersForWhatANodeCountsApart) {
    const auto name = [](std::vector<Rate> rates, bool sliding = false) {
        TableQuota quota;
        quota.rates = std::move(rates);
        quota.sliding = sliding;
        return layout_name(quota);
    };
    constexpr std::int64_t kLarge = kLargestSmallLimit + 1;
    EXPECT_EQ(name({{10, 60s}}), "60");
    EXPECT_EQ(name({{kLargestSmallLimit, 60s}}), "60") << "limits are no part of it";
    EXPECT_EQ(name({{10, 60s}, {kNoLimit, 24h}}), "60-86400");
    EXPECT_EQ(name({{10, Period::month()}}, true), "month-sliding");
    EXPECT_NE(name({{10, Period::month({.day = 15})}}), name({{10, Period::month()}}));
    EXPECT_EQ(name({{kLarge, 60s}}), "60-large");
    EXPECT_EQ(name({{10, 1s, 20}, {kNoLimit, 24h}}), "1b-86400-large");
    EXPECT_EQ(name({{kLarge, 60s}}, true), "60-sliding-large");
    EXPECT_EQ(name({{1, 1s}, {2, 60s}, {3, 24h}}), name({{1, 1s}, {2, 60s}, {kLarge, 24h}}))
        << "three windows are never small";
}

TEST(PolicyName, JoinsPlanAndPeriod) {
    EXPECT_EQ(policy_name("free", 60s), "free-minute");
    EXPECT_EQ(policy_name("free", 900s), "free-15-minutes");
    EXPECT_EQ(policy_name("free", Period::month()), "free-month");
}

}  // namespace
}  // namespace tollgate
