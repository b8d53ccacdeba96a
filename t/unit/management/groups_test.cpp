#include "module/management/groups.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "t/unit/management/given_replies.hpp"
#include "t/unit/management/memory_database.hpp"

namespace tollgate::management {
namespace {

class GroupsTest : public testing::Test {
  protected:
    Caller caller() { return {database_, keys_, "operator"}; }
    void set(const std::string& group) {
        run_to_end(change_group(caller(), group, {.values = {{"plan", "pro"}}},
                                [](const KeyRecord& /*record*/) {}));
    }
    /// Returns why the operation was refused; empty: it was executed.
    std::optional<Reason> remove(const std::string& group) {
        try {
            run_to_end(delete_group(caller(), group));
            return std::nullopt;
        } catch (const OperationError& error) {
            return error.reason();
        }
    }
    bool has_record() const { return database_.data.hashes.contains("t:group:{acme}"); }
    bool is_listed() { return database_.data.scores["t:groups"].contains("acme"); }

    MemoryDatabase database_;
    redis::Keys keys_ = MemoryDatabase::keys();
};

TEST_F(GroupsTest, AnnouncesARemovalThatWasInterrupted) {
    for (const bool is_cluster : {false, true}) {
        database_.is_cluster = is_cluster;
        int interruptions = 0;
        for (bool is_interrupted = true; is_interrupted; ++interruptions) {
            set("acme");
            database_.announced.clear();
            database_.calls_left = interruptions;
            is_interrupted = remove("acme") == Reason::kUnavailable;
            database_.calls_left.reset();
            if (is_interrupted) {
                const bool is_removed = !has_record();
                EXPECT_EQ(remove("acme"),
                          is_removed ? std::optional(Reason::kUnknownGroup) : std::nullopt);
            }
            EXPECT_TRUE(database_.announced.contains("group:acme")) << interruptions;
            EXPECT_FALSE(has_record()) << interruptions;
            EXPECT_FALSE(is_listed()) << interruptions;
        }
        EXPECT_GT(interruptions, 3);
    }
}

TEST_F(GroupsTest, ListsAGroupThatAnotherOperationRemovesFromTheList) {
    database_.before_change = [this] { database_.data.scores.erase("t:groups"); };
    set("acme");
    EXPECT_TRUE(has_record());
    EXPECT_TRUE(is_listed());
}

TEST_F(GroupsTest, RefusesNamesWithAnotherMeaning) {
    for (const auto* name : {"", ".", "..", "none", "a b"}) {
        EXPECT_THROW(set(name), OperationError) << name;
    }
    EXPECT_TRUE(database_.data.hashes.empty());
}

TEST(GroupPageTest, IsNotEmptyIfARecordFollows) {
    GivenReplies database(
        {{"ZRANGEBYLEX groups", {array_of({"a", "b"}), array_of({"b"})}},
         {"HGETALL group", {array_of({}), array_of({"id", "b", "plan", "pro"})}}});
    const auto page = run_to_end(read_groups(database, GivenReplies::keys(), "", 1));
    ASSERT_EQ(page.groups.size(), 1U);
    EXPECT_EQ(page.groups.front().id, "b");
    EXPECT_EQ(page.next, std::nullopt);
}

}  // namespace
}  // namespace tollgate::management
