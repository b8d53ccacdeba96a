#include "module/management/admin/caller_rights.hpp"

#include <gtest/gtest.h>

#include <string>

#include "module/management/admin/read_database.hpp"
#include "module/management/operation_error.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "t/unit/management/memory_database.hpp"

namespace tollgate::management {
namespace {

HeldRights support() {
    return {.id = "support", .scopes = "keys:write orders:read"};
}

/// Whether the caller may set a value of an id.
bool may_set(std::string_view id, std::string_view field, const std::string& value) {
    KeyChanges changes;
    changes.values.emplace(field, value);
    try {
        support().require_may_change(id, changes);
        return true;
    } catch (const OperationError& error) {
        EXPECT_EQ(error.reason(), Reason::kNotPermitted);
        return false;
    }
}

TEST(CallerRightsTest, ACallerGivesOnlyScopesThatItHas) {
    EXPECT_TRUE(may_set("customer", "scopes", "orders:read"));
    EXPECT_TRUE(may_set("customer", "scopes", "keys:write orders:read"));
    EXPECT_TRUE(may_set("customer", "scopes", ""));
    EXPECT_FALSE(may_set("customer", "scopes", "admin"));
    EXPECT_FALSE(may_set("customer", "scopes", "admin orders:read"));
    EXPECT_THROW(support().require_may_give("admin"), OperationError);
}

TEST(CallerRightsTest, ACallerDoesNotChangeItsOwnLimits) {
    std::string refused;
    for (const auto& field : redis::record_fields()) {
        EXPECT_TRUE(may_set("customer", field.name, ""));
        if (!may_set("support", field.name, "")) {
            refused += std::string(field.name) + " ";
        }
    }
    EXPECT_EQ(refused, "plan limits billing_day expires scopes from group ");
}

TEST(CallerRightsTest, AReadEndsWhenItsClientHasLeft) {
    MemoryDatabase stored;
    bool is_wanted = true;
    ReadDatabase database(stored, [&] { return is_wanted; });
    const auto read = [&] { return run_to_end(run(database, {"TIME"})); };
    EXPECT_NO_THROW(read());
    is_wanted = false;
    EXPECT_THROW(read(), OperationError);
}

}  // namespace
}  // namespace tollgate::management
