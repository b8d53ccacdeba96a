#include "module/management/plan_rules.hpp"

#include <gtest/gtest.h>

#include "module/management/operation_error.hpp"
#include "t/unit/management/given_replies.hpp"

namespace tollgate::management {
namespace {

/// A table with the plans `free`, `pro`, which is custom, and `slow`, which is custom and slides.
PlanTable table_of(const std::string& name) {
    PlanTable table;
    table.name = name;
    table.plans = {{"free", Plan::Kind::kUnlimited, {}, false},
                   {"pro", Plan::Kind::kCustom, {}, false},
                   {"slow", Plan::Kind::kCustom, {}, true}};
    return table;
}

std::string refusal_of(const std::vector<PlanTable>& tables, const std::string& plan,
                       const std::string& limits = {}) {
    KeyRecord record;
    record.plan = plan;
    record.limits = limits;
    try {
        require_usable_plan(tables, record);
        refuse_sliding_month(tables, record);
    } catch (const OperationError& error) {
        return error.what();
    }
    return "";
}

TEST(PlanRules, WithoutTablesAcceptsAll) {
    EXPECT_EQ(refusal_of({}, "any"), "");
}

TEST(PlanRules, NamesThePlansOnce) {
    const std::vector tables{table_of("b"), table_of("a")};
    EXPECT_EQ(refusal_of(tables, "fre"),
              "plan: no plan table has \"fre\": the plans are \"free\", \"pro\", \"slow\"");
    EXPECT_EQ(refusal_of(tables, "free"), "");
}

TEST(PlanRules, RefusesCustomWithoutLimits) {
    auto with_default = table_of("b");
    with_default.plans.erase(with_default.plans.begin());
    with_default.default_plan = "pro";
    const std::vector tables{table_of("a"), with_default};
    EXPECT_EQ(refusal_of(tables, "pro"),
              "limits: the plan \"pro\" is custom in \"a\", \"b\", and the key has no limits");
    EXPECT_EQ(refusal_of(tables, "pro", "5r/m"), "");
    // The default plan of the other table is not what the record asks for.
    EXPECT_EQ(refusal_of(tables, "free"), "");
}

TEST(PlanRules, RefusesLimitsThatNoTableUses) {
    const auto refuses = [](const std::vector<PlanTable>& tables, const std::string& plan,
                            const std::string& limits) {
        KeyRecord record;
        record.plan = plan;
        record.limits = limits;
        const KeyChanges changes{.values = {{"limits", limits}}};
        check_changed_plan(tables, record, changes, Forced::kYes);
        check_changed_plan(tables, record, {.values = {{"name", "n"}}}, Forced::kNo);
        try {
            check_changed_plan(tables, record, changes, Forced::kNo);
            return false;
        } catch (const OperationError&) {
            return true;
        }
    };
    auto with_default = table_of("b");
    with_default.plans.erase(with_default.plans.begin());
    with_default.default_plan = "pro";
    EXPECT_TRUE(refuses({table_of("a")}, "free", "5r/m"));
    EXPECT_FALSE(refuses({table_of("a")}, "free", ""));
    EXPECT_FALSE(refuses({table_of("a")}, "pro", "5r/m"));
    EXPECT_FALSE(refuses({table_of("a"), with_default}, "free", "5r/m"));
    EXPECT_FALSE(refuses({}, "free", "5r/m"));
}

TEST(PlanRules, RefusesASlidingMonth) {
    EXPECT_NE(refusal_of({table_of("a")}, "slow", "5r/month"), "");
    EXPECT_EQ(refusal_of({table_of("a")}, "slow", "5r/d"), "");
    EXPECT_EQ(refusal_of({table_of("a")}, "pro", "5r/month"), "");
}

TEST(PlanRules, KnowsOwnAndPublishedTables) {
    const auto own = table_of("a");
    GivenReplies redis(
        {{"HGETALL plans",
          {array_of({"a", R"({"plans":{"gold":{"rates":["1r/s"]}}})", "b", "no table", "c",
                     R"({"plans":{"red":{"unlimited":true}}})"})}}});
    EXPECT_EQ(plan_names(run_to_end(read_known_tables(redis, GivenReplies::keys(), {&own}))),
              (std::vector<std::string>{"free", "gold", "pro", "red", "slow"}));
    redis::Value wrong_type;
    wrong_type.kind = redis::Value::Kind::kError;
    wrong_type.text = "WRONGTYPE";
    GivenReplies other({{"HGETALL plans", {wrong_type}}});
    EXPECT_EQ(plan_names(run_to_end(read_known_tables(other, GivenReplies::keys(), {&own}))),
              plan_names({own}));
}

}  // namespace
}  // namespace tollgate::management
