#include "module/management/known_id.hpp"

#include <gtest/gtest.h>

#include "t/unit/management/given_replies.hpp"

namespace tollgate::management {
namespace {

/// The error for an id about which Redis has these replies; Reason::kUnavailable if there is none.
Reason reason_of(GivenReplies::Given given) {
    PlanTable table;
    table.name = "api";
    GivenReplies database(std::move(given));
    try {
        run_to_end(require_known_id(database, GivenReplies::keys(), "k1",
                                    CountingTables{.known = {&table}, .found = {"old"}}));
    } catch (const OperationError& error) {
        return error.reason();
    }
    return Reason::kUnavailable;
}

TEST(KnownIdTest, HasAKeyOrIsCounted) {
    constexpr Reason kKnown = Reason::kUnavailable;
    EXPECT_EQ(reason_of({{"EXISTS ban", {value_of(1)}}}), kKnown);
    EXPECT_EQ(reason_of({{"EXISTS history", {value_of(1)}}}), kKnown);
    EXPECT_EQ(reason_of({{"EXISTS quota", {value_of(1), value_of(0)}}}), kKnown);
    EXPECT_EQ(reason_of({{"EXISTS quota", {value_of(0), value_of(1)}}}), kKnown);
    EXPECT_EQ(reason_of({{"SMEMBERS id", {array_of({"digest"})}}}), kKnown);
}

TEST(KnownIdTest, IsUnknownOtherwise) {
    EXPECT_EQ(reason_of({{"EXISTS ban", {value_of(0)}}, {"EXISTS quota", {value_of(0)}}}),
              Reason::kUnknownId);
}

}  // namespace
}  // namespace tollgate::management
