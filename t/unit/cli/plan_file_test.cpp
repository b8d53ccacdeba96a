#include "module/cli/simulation/plan_file.hpp"

#include <gtest/gtest.h>

#include "module/text/parse_error.hpp"

namespace tollgate::cli {
namespace {

using namespace std::chrono_literals;

std::string plan_file_refusal(std::string_view text) {
    try {
        parse_plan_file(text, "file");
    } catch (const ParseError& error) {
        return error.what();
    }
    return "";
}

TEST(PlanFile, ReadsTheBodyOfABlock) {
    const auto tables = parse_plan_file(
        "plan free 60r/m 1000r/d;  # the smallest\nplan pro '300r/m' window=sliding;\n"
        "default free;\nanonymous 30r/m;\nban after=3 within=1m for=1m;\n",
        "file");
    ASSERT_EQ(tables.size(), 1U);
    EXPECT_EQ(tables[0].name, "file");
    EXPECT_EQ(tables[0].find("free")->rates, (std::vector<Rate>{{60, 60s}, {1000, 24h}}));
    EXPECT_TRUE(tables[0].find("pro")->sliding);
    EXPECT_EQ(tables[0].default_plan, "free");
}

TEST(PlanFile, ReadsBlocks) {
    const auto tables = parse_plan_file(
        "tollgate_plans api redis=main lease=off { plan free 60r/m; }\n"
        "tollgate_plans search { plan free 10r/m; }",
        "file");
    ASSERT_EQ(tables.size(), 2U);
    EXPECT_EQ(tables[0].name, "api");
    EXPECT_EQ(tables[1].name, "search");
    EXPECT_EQ(tables[1].find("free")->rates, (std::vector<Rate>{{10, 60s}}));
}

TEST(PlanFile, ReadsBlocksBesideABody) {
    const auto tables =
        parse_plan_file("tollgate_plans api { plan free 60r/m; } plan free 5r/m;", "file");
    ASSERT_EQ(tables.size(), 2U);
    EXPECT_EQ(tables[1].name, "file");
}

TEST(PlanFile, RefusesMistakesWithTheirLine) {
    EXPECT_EQ(plan_file_refusal(""), "no plan in tollgate_plans \"file\"");
    EXPECT_EQ(plan_file_refusal("plan free 60r/m;\nplan pro fast;"),
              "line 2: invalid rate \"fast\"");
    EXPECT_EQ(plan_file_refusal("plan free 60r/m\nplan pro 1r/s;"),
              "line 2: invalid rate \"plan\"");
    EXPECT_EQ(plan_file_refusal("plan free 60r/m;\ninclude other;"),
              "line 2: \"include\" is not followed: name that file instead");
    EXPECT_EQ(plan_file_refusal("plan free 60r/m;\n}"), "line 2: unexpected \"}\"");
    EXPECT_EQ(plan_file_refusal("plan free 60r/m; default pro;"),
              "unknown default plan \"pro\" in tollgate_plans \"file\"");
    EXPECT_EQ(plan_file_refusal("tollgate_plans api;"),
              "line 1: directive \"tollgate_plans\" has no opening \"{\"");
    EXPECT_EQ(plan_file_refusal("tollgate_plans api {\n}"),
              "line 1: no plan in tollgate_plans \"api\"");
    EXPECT_EQ(plan_file_refusal("tollgate_plans api {\nplan free 1r/s;\n"),
              "line 3: unexpected end of file, expecting \"}\"");
    EXPECT_EQ(plan_file_refusal("tollgate_plans api {\nplan free {"), "line 2: unexpected \"{\"");
    EXPECT_EQ(plan_file_refusal("tollgate_plans a {plan p 1r/s;} tollgate_plans a {plan p 1r/s;}"),
              "line 1: duplicate tollgate_plans \"a\"");
    EXPECT_EQ(plan_file_refusal("tollgate_plans off { }"),
              "line 1: invalid name \"off\" of tollgate_plans");
    EXPECT_EQ(plan_file_refusal("http { }"),
              "line 1: unexpected block \"http\": the file contains tollgate_plans blocks, or what "
              "is in one");
    EXPECT_EQ(plan_file_refusal("tollgate_zone 8m;"),
              "line 1: unknown directive \"tollgate_zone\" in \"tollgate_plans\"");
}

}  // namespace
}  // namespace tollgate::cli
