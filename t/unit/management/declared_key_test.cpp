#include "module/management/declared_key.hpp"

#include <gtest/gtest.h>

#include "module/management/operation_error.hpp"

namespace tollgate::management {
namespace {

KeysOfId id_with(std::string plan, std::string meta = "", std::string digest = "d1") {
    StoredKey key{.digest = std::move(digest)};
    key.record.id = "acme";
    key.record.plan = std::move(plan);
    key.record.meta = std::move(meta);
    return {.id = "acme", .keys = {key}};
}

DeclaredId declared_with(std::string plan, std::string meta = "", std::string digest = "d1") {
    return {.keys = id_with(std::move(plan), std::move(meta), std::move(digest))};
}

TEST(DeclaredKey, DiffersByItsValues) {
    EXPECT_FALSE(difference_of(declared_with("free"), id_with("free")));
    auto stored = id_with("free");
    stored.keys.front().record.name = "ACME";
    stored.keys.front().hint = "abcd";
    const auto difference = difference_of(declared_with("pro"), stored);
    ASSERT_TRUE(difference);
    EXPECT_EQ(audit_text(difference->changes), "plan=pro name=none");
    EXPECT_EQ(difference->replaced, "plan=free name=ACME");
    EXPECT_EQ(difference->digest, "");
    KeyRecord record = stored.keys.front().record;
    apply(difference->changes, record);
    EXPECT_EQ(record, id_with("pro").keys.front().record);
}

TEST(DeclaredKey, ReplacesTheWholeMeta) {
    const auto declared = declared_with("free", R"({"a":1})");
    const auto stored = id_with("free", R"({"a":2,"b":true})");
    const auto difference = difference_of(declared, stored);
    ASSERT_TRUE(difference);
    KeyRecord record = stored.keys.front().record;
    apply(difference->changes, record);
    EXPECT_EQ(record.meta, declared.keys.keys.front().record.meta);
}

TEST(DeclaredKey, MayBeAnotherKey) {
    const auto difference = difference_of(declared_with("free", "", "d2"), id_with("free"));
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->digest, "d2");
    EXPECT_TRUE(difference->changes.empty());
}

TEST(DeclaredKey, ChangesAStateOnlyIfItIsDeclared) {
    auto disabled = id_with("free");
    disabled.keys.front().record.active = false;
    EXPECT_FALSE(difference_of(declared_with("free"), disabled)) << "an operator has disabled it";
    auto declared = declared_with("free");
    declared.has_state = true;
    const auto difference = difference_of(declared, disabled);
    ASSERT_TRUE(difference);
    EXPECT_EQ(audit_text(difference->changes), "state=active");
}

TEST(DeclaredKey, IsTheOneThatIsNotRetiring) {
    auto declared = declared_with("free");
    auto retiring = declared.keys.keys.front();
    retiring.digest = "d0";
    retiring.record.retiring = true;
    declared.keys.keys.insert(declared.keys.keys.begin(), retiring);
    EXPECT_FALSE(difference_of(declared, id_with("free")));
}

TEST(DeclaredKey, BelongsToItsOwner) {
    const auto owned = id_with("free", R"({"owner":"platform"})");
    EXPECT_EQ(owner_in(owned.keys.front().record), "platform");
    EXPECT_THROW(difference_of(declared_with("free"), owned), OperationError);
    EXPECT_THROW(difference_of(declared_with("free", R"({"owner":"sales"})"), owned),
                 OperationError);
    EXPECT_TRUE(difference_of(DeclaredId{.keys = owned}, id_with("free")))
        << "one without an owner gets it";
    KeyRecord record = id_with("free", R"({"a":1})").keys.front().record;
    set_owner(record, "platform");
    EXPECT_EQ(record.meta, R"({"a":1,"owner":"platform"})");
    EXPECT_THROW(set_owner(record, "sales"), OperationError);
    record.meta = "no meta";
    EXPECT_EQ(owner_in(record), "");
}

TEST(DeclaredGroup, DiffersByPlanAndLimits) {
    const GroupRecord stored{.id = "g", .plan = "team", .limits = "5r/m"};
    EXPECT_FALSE(difference_of(stored, stored));
    const auto difference =
        difference_of(GroupRecord{.id = "g", .plan = "team", .limits = ""}, stored);
    ASSERT_TRUE(difference);
    EXPECT_EQ(audit_text(difference->changes), "limits=none");
}

}  // namespace
}  // namespace tollgate::management
