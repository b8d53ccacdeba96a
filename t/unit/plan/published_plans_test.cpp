#include "module/plan/published_plans.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(PublishedPlans, ReadsEachKindOfPlan) {
    const auto table = read_published_table(
        "api",
        R"({"plans":{"free":{"rates":["1000r/d","60r/m"],"window":"sliding"},"pro":{"rates":["5r/s"]},)"
        R"("enterprise":{"custom":true},"partner":{"unlimited":true}},"default":"free","published":5})");
    ASSERT_TRUE(table);
    EXPECT_EQ(table->name, "api");
    EXPECT_EQ(table->default_plan, "free");
    ASSERT_EQ(table->plans.size(), 4U);
    const Plan* free = table->find("free");
    EXPECT_EQ(free->rates, (std::vector<Rate>{{60, 60s}, {1000, 24h}}));
    EXPECT_TRUE(free->sliding);
    EXPECT_FALSE(table->find("pro")->sliding);
    EXPECT_EQ(table->find("enterprise")->kind, Plan::Kind::kCustom);
    EXPECT_EQ(table->find("partner")->kind, Plan::Kind::kUnlimited);
    EXPECT_EQ(table->find("other"), free);
}

TEST(PublishedPlans, ReadsWhatItWrites) {
    PlanTable table;
    table.name = "api";
    table.unit = "tokens";
    table.plans = {{"free", Plan::Kind::kLimited, {{60, 60s}, {1000, 24h}}, true},
                   {"enterprise", Plan::Kind::kCustom, {}, false},
                   {"partner", Plan::Kind::kUnlimited, {}, false}};
    const std::string json = write_published_table(table, std::chrono::sys_seconds(5s));
    EXPECT_EQ(
        json,
        R"({"unit":"tokens","plans":{"free":{"rates":["60r/m","1000r/d"],"window":"sliding"},)"
        R"("enterprise":{"custom":true,"window":"fixed"},"partner":{"unlimited":true}},)"
        R"("default":null,"published":5})");
    EXPECT_EQ(read_published_table("api", json)->history, std::chrono::days(0));
    table.default_plan = "free";
    table.history = std::chrono::days(90);
    const auto read = read_published_table("api", write_published_table(table, {}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->default_plan, "free");
    EXPECT_EQ(read->unit, "tokens");
    EXPECT_EQ(read->history, std::chrono::days(90));
    ASSERT_EQ(read->plans.size(), 3U);
    EXPECT_EQ(read->find("free")->rates, table.plans[0].rates);
    EXPECT_TRUE(read->find("free")->sliding);
    EXPECT_EQ(read->find("enterprise")->kind, Plan::Kind::kCustom);
    EXPECT_EQ(read->find("partner")->kind, Plan::Kind::kUnlimited);
}

TEST(PublishedPlans, TellsWhoseCounterATableHas) {
    PlanTable table;
    table.name = "users";
    table.plans = {{"free", Plan::Kind::kLimited, {{60, 60s}}, false}};
    EXPECT_FALSE(read_published_table("users", write_published_table(table, {}))->counts_values());
    table.variable = "arg_user";
    const std::string json = write_published_table(table, {});
    EXPECT_NE(json.find(R"("by":"$arg_user")"), std::string::npos);
    EXPECT_EQ(read_published_table("users", json)->variable, "arg_user");
    EXPECT_FALSE(read_published_table("users", json)->by_group);
    table.variable.clear();
    table.by_group = true;
    const auto groups = read_published_table("users", write_published_table(table, {}));
    EXPECT_TRUE(groups->by_group);
    EXPECT_FALSE(groups->counts_values());
    EXPECT_FALSE(read_published_table("users", R"({"plans":{},"by":"other"})")->by_group);
}

TEST(PublishedPlans, TellsWhetherATableBans) {
    PlanTable table;
    table.plans = {{"free", Plan::Kind::kLimited, {{60, 60s}}, false}};
    EXPECT_FALSE(read_published_table("api", write_published_table(table, {}))->ban);
    table.ban.emplace();
    EXPECT_TRUE(read_published_table("api", write_published_table(table, {}))->ban);
    EXPECT_FALSE(read_published_table("api", R"({"plans":{},"ban":false})")->ban);
}

TEST(PublishedPlans, TellsWhichLevelsATableNotices) {
    PlanTable table;
    table.plans = {{"free", Plan::Kind::kLimited, {{60, 60s}}, false}};
    EXPECT_TRUE(read_published_table("api", write_published_table(table, {}))->notify.empty());
    table.notify = {80, 100};
    const std::string json = write_published_table(table, {});
    EXPECT_NE(json.find(R"("notify":[80,100])"), std::string::npos) << json;
    EXPECT_EQ(read_published_table("api", json)->notify, table.notify);
}

TEST(PublishedPlans, KeepsABurst) {
    PlanTable table;
    table.plans = {{"free", Plan::Kind::kLimited, {{10, 1s, 20}, {1000, 24h}}, false}};
    const std::string json = write_published_table(table, {});
    EXPECT_NE(json.find(R"("rates":["10r/s burst=20","1000r/d"])"), std::string::npos) << json;
    const auto read = read_published_table("api", json);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->find("free")->rates, table.plans[0].rates);
}

TEST(PublishedPlans, NeedsNoDefault) {
    for (const auto* json :
         {R"({"plans":{"free":{"rates":["1r/s"]}},"default":null})",
          R"({"plans":{"free":{"rates":["1r/s"]}},"later":[1]})",
          R"({"plans":{"free":{"rates":["1r/s"],"window":null,"later":{"x":[{}]}}},)"
          R"("later":{"default":7,"plans":[[null,1.5,true]]}})"}) {
        const auto table = read_published_table("api", json);
        ASSERT_TRUE(table) << json;
        EXPECT_EQ(table->find("other"), nullptr) << json;
    }
    EXPECT_TRUE(read_published_table("api", R"({"plans":{}})")->plans.empty());
}

TEST(PublishedPlans, RefusesWhatIsNoTable) {
    for (const auto* json : {"",
                             "{",
                             "[]",
                             "7",
                             "{}",
                             R"({"plans":[]})",
                             R"({"plans":{"free":5}})",
                             R"({"plans":{"free":{}}})",
                             R"({"plans":{"free":{"rates":"60r/m"}}})",
                             R"({"plans":{"free":{"rates":[]}}})",
                             R"({"plans":{"free":{"rates":[60]}}})",
                             R"({"plans":{"free":{"rates":["burst=20"]}}})",
                             R"({"plans":{"free":{"rates":["fast"]}}})",
                             R"({"plans":{"a b":{"rates":["1r/s"]}}})",
                             R"({"plans":{"free":{"rates":["1r/s"],"window":5}}})",
                             R"({"plans":{},"default":5})",
                             R"({"plans":null})",
                             R"({"plans":{"free":[]}})",
                             R"({"plans":{"free":null}})",
                             R"({"plans":{"free":{"rates":[null]}}})",
                             R"({"plans":{"free":{"rates":[["1r/s"]]}}})",
                             R"({"plans":{"free":{"rates":[{}]}}})",
                             R"({"plans":{"free":{"rates":{"[]":"1r/s"}}}})",
                             R"({"plans":{"free":{"rates":["1r/s"],"window":{}}}})",
                             R"({"plans":{},"default":[]})",
                             R"({"plans":{},"plans":7})",
                             R"({"plans":{}} {})",
                             R"({"plans":{},"name":"\xff"})"}) {
        EXPECT_FALSE(read_published_table("api", json)) << json;
    }
    EXPECT_FALSE(read_published_table("a b", R"({"plans":{}})"));
}

}  // namespace
}  // namespace tollgate
