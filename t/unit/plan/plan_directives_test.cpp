#include "module/plan/plan_directives.hpp"

#include <gtest/gtest.h>

#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;
using DirectiveWords = std::vector<std::string_view>;

TEST(PlanDirectives, ReadsTheTable) {
    const auto plain = parse_table_directive(DirectiveWords{"api"});
    EXPECT_EQ(plain.table.name, "api");
    EXPECT_EQ(plain.redis_name, "");
    EXPECT_EQ(plain.table.lease_time, kLeaseTime);
    const auto all = parse_table_directive(DirectiveWords{"api", "lease=off", "redis=main"});
    EXPECT_EQ(all.redis_name, "main");
    EXPECT_EQ(all.table.lease_time, 0ms);
}

TEST(PlanDirectives, RefusesInvalidParametersOfTheTable) {
    for (const DirectiveWords& words :
         {DirectiveWords{}, DirectiveWords{""}, DirectiveWords{"off"}, DirectiveWords{"a b"},
          DirectiveWords{"api", "redis="}, DirectiveWords{"api", "redis=a", "redis=b"},
          DirectiveWords{"api", "lease=off", "lease=off"}, DirectiveWords{"api", "lease=1ms"},
          DirectiveWords{"api", "other"}, DirectiveWords{"api", "by="},
          DirectiveWords{"api", "by=$"}, DirectiveWords{"api", "by=user"},
          DirectiveWords{"api", "by=$a-b"}, DirectiveWords{"api", "by=$a$b"},
          DirectiveWords{"api", "by=id", "by=$user"}, DirectiveWords{"api", "by=group", "by=id"},
          DirectiveWords{"api", "by=Group"}}) {
        EXPECT_THROW(parse_table_directive(words), ParseError);
    }
}

TEST(PlanDirectives, ReadsWhatHasACounter) {
    EXPECT_FALSE(parse_table_directive(DirectiveWords{"api"}).table.counts_values());
    EXPECT_FALSE(parse_table_directive(DirectiveWords{"api", "by=id"}).table.counts_values());
    PlanTable table = parse_table_directive(DirectiveWords{"api", "by=$arg_user"}).table;
    EXPECT_EQ(table.variable, "arg_user");
    set_plans_directive(table, DirectiveWords{"plan", "free", "60r/m"});
    EXPECT_NO_THROW(check_plan_table(table));
    set_plans_directive(table, DirectiveWords{"plan", "pro", "60r/m", "in_flight=2"});
    EXPECT_THROW(check_plan_table(table), ParseError) << "a place belongs to the id";
}

TEST(PlanDirectives, ReadsThatAGroupHasACounter) {
    PlanTable table = parse_table_directive(DirectiveWords{"api", "by=group"}).table;
    EXPECT_TRUE(table.by_group);
    EXPECT_FALSE(table.counts_values());
    set_plans_directive(table, DirectiveWords{"plan", "free", "60r/m"});
    EXPECT_NO_THROW(check_plan_table(table));
    PlanTable limited = table;
    set_plans_directive(limited, DirectiveWords{"plan", "pro", "60r/m", "in_flight=2"});
    EXPECT_THROW(check_plan_table(limited), ParseError) << "a place belongs to the id";
    set_plans_directive(table, DirectiveWords{"history", "30d"});
    EXPECT_THROW(check_plan_table(table), ParseError) << "a history is that of an id";
}

TEST(PlanDirectives, SetsEachDirective) {
    PlanTable table;
    table.name = "api";
    set_plans_directive(table, DirectiveWords{"plan", "free", "60r/m"});
    set_plans_directive(table, DirectiveWords{"plan", "pro", "300r/m"});
    set_plans_directive(table, DirectiveWords{"default", "free"});
    set_plans_directive(table, DirectiveWords{"anonymous", "30r/m"});
    set_plans_directive(table, DirectiveWords{"ban", "after=3", "within=1m", "for=1m"});
    EXPECT_EQ(table.plans.size(), 2U);
    EXPECT_EQ(table.default_plan, "free");
    EXPECT_EQ(table.anonymous_policies, std::vector<std::string>{"anonymous-minute"});
    EXPECT_TRUE(table.ban);
    EXPECT_NO_THROW(check_plan_table(table));
}

TEST(PlanDirectives, RefusesDuplicatesAndUnknownNames) {
    PlanTable table;
    set_plans_directive(table, DirectiveWords{"plan", "free", "60r/m"});
    set_plans_directive(table, DirectiveWords{"default", "free"});
    for (const DirectiveWords& words :
         {DirectiveWords{"plan", "free", "70r/m"}, DirectiveWords{"default", "free"},
          DirectiveWords{"default"}, DirectiveWords{"plans", "free", "60r/m"},
          DirectiveWords{"include", "plans.conf"}}) {
        EXPECT_THROW(set_plans_directive(table, words), ParseError) << words.front();
    }
}

TEST(PlanDirectives, BudgetsOfAddressesMayBeShared) {
    PlanTable own;
    set_plans_directive(own, DirectiveWords{"anonymous", "30r/m", "100r/h"});
    EXPECT_FALSE(own.anonymous_is_shared);
    PlanTable table;
    set_plans_directive(table, DirectiveWords{"anonymous", "30r/m", "100r/h", "shared"});
    EXPECT_TRUE(table.anonymous_is_shared);
    EXPECT_EQ(table.anonymous, own.anonymous);
    for (const DirectiveWords& words :
         {DirectiveWords{"anonymous", "shared"}, DirectiveWords{"anonymous", "shared", "30r/m"}}) {
        PlanTable invalid;
        EXPECT_THROW(set_plans_directive(invalid, words), ParseError);
    }
}

TEST(PlanDirectives, NoticesLevels) {
    PlanTable table;
    set_plans_directive(table, DirectiveWords{"notify", "100%", "80%", "1%"});
    EXPECT_EQ(table.notify, (std::vector<std::int64_t>{1, 80, 100}));
    for (const auto* level : {"80", "0%", "101%", "%", "-5%", "8.5%"}) {
        PlanTable invalid;
        EXPECT_THROW(set_plans_directive(invalid, DirectiveWords{"notify", level}), ParseError);
    }
    for (const DirectiveWords& words :
         {DirectiveWords{"notify"}, DirectiveWords{"notify", "80%", "80%"},
          DirectiveWords{"notify", "1%", "2%", "3%", "4%", "5%", "6%", "7%", "8%", "9%"}}) {
        PlanTable invalid;
        EXPECT_THROW(set_plans_directive(invalid, words), ParseError);
    }
}

TEST(PlanDirectives, ChecksTheWholeTable) {
    PlanTable table;
    EXPECT_THROW(check_plan_table(table), ParseError);
    set_plans_directive(table, DirectiveWords{"default", "free"});
    set_plans_directive(table, DirectiveWords{"plan", "pro", "60r/m"});
    EXPECT_THROW(check_plan_table(table), ParseError);
    set_plans_directive(table, DirectiveWords{"plan", "free", "60r/m"});
    EXPECT_NO_THROW(check_plan_table(table));
}

}  // namespace
}  // namespace tollgate
