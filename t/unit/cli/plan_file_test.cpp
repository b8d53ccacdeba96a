#include "module/cli/simulation/plan_file.hpp"

#include <gtest/gtest.h>

#include "module/text/parse_error.hpp"

namespace tollgate::cli {
namespace {

using namespace std::chrono_literals;

/// Reads a text that includes `a.conf` or `b.conf`.
std::vector<PlanTable> tables_of(std::string_view text) {
    return parse_plan_file(text, "file", [](const std::string& name) {
        std::vector<IncludedFile> files;
        if (name == "a.conf") {
            files.push_back({.path = "/a.conf", .text = "plan free 7r/m;\n"});
        } else if (name == "b.conf") {
            files.push_back({.path = "/b.conf", .text = "\ninclude b.conf;\n"});
        } else if (name != "*.none") {
            throw ParseError("cannot read it");
        }
        return files;
    });
}

std::string plan_file_refusal(std::string_view text) {
    try {
        tables_of(text);
    } catch (const ParseError& error) {
        return error.what();
    }
    return "";
}

TEST(PlanFile, ReadsTheBodyOfABlock) {
    const auto tables = tables_of(
        "plan free 60r/m 1000r/d;  # the smallest\nplan pro '300r/m' window=sliding;\n"
        "default free;\nanonymous 30r/m;\nban after=3 within=1m for=1m;\n");
    ASSERT_EQ(tables.size(), 1U);
    EXPECT_EQ(tables[0].name, "file");
    EXPECT_EQ(tables[0].find("free")->rates, (std::vector<Rate>{{60, 60s}, {1000, 24h}}));
    EXPECT_TRUE(tables[0].find("pro")->sliding);
    EXPECT_EQ(tables[0].default_plan, "free");
}

TEST(PlanFile, ReadsBlocks) {
    const auto tables = tables_of(
        "tollgate_plans api redis=main lease=off { plan free 60r/m; }\n"
        "tollgate_plans search { plan free 10r/m; }");
    ASSERT_EQ(tables.size(), 2U);
    EXPECT_EQ(tables[0].name, "api");
    EXPECT_EQ(tables[1].name, "search");
    EXPECT_EQ(tables[1].find("free")->rates, (std::vector<Rate>{{10, 60s}}));
}

TEST(PlanFile, ReadsBlocksBesideABody) {
    const auto tables = tables_of("tollgate_plans api { plan free 60r/m; } plan free 5r/m;");
    ASSERT_EQ(tables.size(), 2U);
    EXPECT_EQ(tables[1].name, "file");
}

TEST(PlanFile, ReadsAConfiguration) {
    const auto tables = tables_of(
        "user www-data;\nevents { worker_connections 7; }\n"
        "http {\n include *.none;\n types { text/html html; }\n"
        "  tollgate_plans api redis=main { include a.conf; plan pro 9r/m; }\n"
        "  server { location / { if ($x) { return 200 'tollgate_plans x {'; } } }\n"
        "  tollgate_plans search { plan free 1r/m; }\n}\n");
    ASSERT_EQ(tables.size(), 2U);
    EXPECT_EQ(tables[0].name, "api");
    EXPECT_EQ(tables[0].find("free")->rates, (std::vector<Rate>{{7, 60s}}));
    EXPECT_EQ(tables[0].find("pro")->rates, (std::vector<Rate>{{9, 60s}}));
    EXPECT_EQ(tables[1].name, "search");
    // A part of the http block.
    EXPECT_EQ(tables_of("tollgate_redis main { }\ntollgate_plans api { plan free 1r/m; }").size(),
              1U);
}

TEST(PlanFile, FollowsIncludes) {
    const auto tables = tables_of("include a.conf;\nplan pro 9r/m;");
    ASSERT_EQ(tables.size(), 1U);
    EXPECT_EQ(tables[0].plans.size(), 2U);
    const auto endless = plan_file_refusal("include b.conf;");
    EXPECT_TRUE(endless.starts_with("/b.conf: ")) << endless;
    EXPECT_TRUE(endless.ends_with("line 2: too many nested includes")) << endless;
}

TEST(PlanFile, RefusesMistakesWithTheirLine) {
    EXPECT_EQ(plan_file_refusal(""), "no plan in tollgate_plans \"file\"");
    EXPECT_EQ(plan_file_refusal("plan free 60r/m;\nplan pro fast;"),
              "line 2: invalid rate \"fast\"");
    EXPECT_EQ(plan_file_refusal("plan free 60r/m\nplan pro 1r/s;"),
              "line 2: invalid rate \"plan\"");
    EXPECT_EQ(plan_file_refusal("plan free 60r/m;\ninclude other;"), "line 2: cannot read it");
    EXPECT_EQ(plan_file_refusal("include a b;"),
              "line 1: invalid number of arguments in \"include\"");
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
    EXPECT_EQ(plan_file_refusal("http { }"), "no \"tollgate_plans\" block in it");
    EXPECT_EQ(plan_file_refusal("http { server { }"),
              "line 1: unexpected end of file, expecting \"}\"");
    EXPECT_EQ(plan_file_refusal("http { } }"), "line 1: unexpected \"}\"");
    EXPECT_EQ(plan_file_refusal("http { tollgate_plans api {\n plan free fast; } }"),
              "line 2: invalid rate \"fast\"");
    EXPECT_EQ(plan_file_refusal("tollgate_zone 8m;"),
              "line 1: unknown directive \"tollgate_zone\" in \"tollgate_plans\"");
}

}  // namespace
}  // namespace tollgate::cli
