#include "module/plan/plan.hpp"

#include <gtest/gtest.h>

#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string_view>;

TEST(ParsePlan, ReadsRatesInAnyOrder) {
    const Plan plan = parse_plan(Words{"free", "1000r/d", "60r/m"});
    EXPECT_EQ(plan.name, "free");
    EXPECT_EQ(plan.kind, Plan::Kind::kLimited);
    EXPECT_EQ(plan.rates, (std::vector<Rate>{{60, 60s}, {1000, 86400s}}));
    EXPECT_FALSE(plan.sliding);
}

TEST(ParsePlan, ReadsTheKindAndTheWindow) {
    EXPECT_EQ(parse_plan(Words{"p", "custom"}).kind, Plan::Kind::kCustom);
    EXPECT_EQ(parse_plan(Words{"p", "unlimited"}).kind, Plan::Kind::kUnlimited);
    EXPECT_TRUE(parse_plan(Words{"p", "custom", "window=sliding"}).sliding);
    EXPECT_TRUE(parse_plan(Words{"p", "5r/s", "window=sliding"}).sliding);
    EXPECT_FALSE(parse_plan(Words{"p", "5r/s", "window=fixed"}).sliding);
}

TEST(ParsePlan, RefusesInvalidParameters) {
    for (const Words& words : {
             Words{},
             Words{""},
             Words{"free"},
             Words{"fr ee", "5r/s"},
             Words{"free", "custom", "5r/s"},
             Words{"free", "5r/s", "unlimited"},
             Words{"free", "custom", "unlimited"},
             Words{"free", "window=sliding"},
             Words{"free", "5r/s", "window="},
             Words{"free", "window=fixed", "5r/s"},
             Words{"free", "5r/s", "window=fixed", "window=sliding"},
             Words{"free", "1r/s", "2r/m", "3r/h", "4r/d", "5r/2d"},
             Words{"free", "60r/m", "1000r/month", "window=sliding"},
             Words{"free", "10r/s", "burst=20", "window=sliding"},
             Words{"free", "custom", "burst=20"},
             Words{"free", "unlimited", "burst=20"},
             Words{"free", "1000r/2month"},
         }) {
        EXPECT_THROW(parse_plan(words), ParseError) << (words.empty() ? "" : words.back());
    }
}

TEST(ParseHistory, ReadsATimeAndRoundsItUpToDays) {
    EXPECT_EQ(parse_history("90d"), std::chrono::days(90));
    EXPECT_EQ(parse_history("25h"), std::chrono::days(2));
    EXPECT_EQ(parse_history("2s"), std::chrono::days(1));
    EXPECT_EQ(parse_history("3660d"), std::chrono::days(3660));
    for (const auto* text : {"", "0", "off", "3661d", "-1d", "1x"}) {
        EXPECT_THROW(parse_history(text), ParseError) << text;
    }
}

TEST(ParseBan, ReadsItsParametersInAnyOrder) {
    const BanPolicy ban = parse_ban(Words{"for=10m", "after=20", "up_to=24h", "within=1m"});
    EXPECT_EQ(ban.after, 20);
    EXPECT_EQ(ban.within, 1min);
    EXPECT_EQ(ban.first, 10min);
    EXPECT_EQ(ban.up_to, 24h);
    EXPECT_FALSE(ban.all_strike);
    EXPECT_TRUE(parse_ban(Words{"strikes=all", "after=1", "within=1s", "for=1s"}).all_strike);
    EXPECT_FALSE(parse_ban(Words{"strikes=id", "after=1", "within=1s", "for=1s"}).all_strike);
}

TEST(ParseBan, IsCappedAtADayOrAtOneBan) {
    EXPECT_EQ(parse_ban(Words{"after=1", "within=1s", "for=1s"}).up_to, 24h);
    EXPECT_EQ(parse_ban(Words{"after=1", "within=1s", "for=2d"}).up_to, 48h);
}

TEST(ParseBan, RefusesInvalidParameters) {
    for (const Words& words : {
             Words{},
             Words{"after=1", "within=1s"},
             Words{"after=1", "for=1s"},
             Words{"within=1s", "for=1s"},
             Words{"after=0", "within=1s", "for=1s"},
             Words{"after=-1", "within=1s", "for=1s"},
             Words{"after=1x", "within=1s", "for=1s"},
             Words{"after", "within=1s", "for=1s"},
             Words{"after=1", "within=1s", "for=1s", "strikes=none"},
             Words{"after=1", "within=0", "for=1s"},
             Words{"after=1", "within=1s", "for=0"},
             Words{"after=1", "within=1s", "for=2s", "up_to=1s"},
             Words{"after=1", "after=2", "within=1s", "for=1s"},
             Words{"after=1", "within=1s", "for=1s", "ever=1"},
         }) {
        EXPECT_THROW(parse_ban(words), ParseError) << (words.empty() ? "" : words.back());
    }
}

TEST(PlanTable, FindsThePlanElseTheDefault) {
    PlanTable table;
    table.plans = {parse_plan(Words{"free", "5r/s"}), parse_plan(Words{"pro", "6r/s"})};
    EXPECT_EQ(table.find("pro")->name, "pro");
    EXPECT_EQ(table.find("gold"), nullptr);
    table.default_plan = "free";
    EXPECT_EQ(table.find("pro")->name, "pro");
    EXPECT_EQ(table.find("gold")->name, "free");
}

}  // namespace
}  // namespace tollgate
