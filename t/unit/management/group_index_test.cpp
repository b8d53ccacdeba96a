#include "module/management/group_index.hpp"

#include <gtest/gtest.h>

#include "t/unit/management/given_replies.hpp"

namespace tollgate::management {
namespace {

TEST(GroupIndexTest, FindsTheIdInTheNameOfAKey) {
    struct Case {
        std::string_view text;
        std::string id;
        std::string group;
    };
    for (const auto& [text, id, group] :
         {Case{"k1}", "k1", ""}, Case{"k1}:api", "k1", ""}, Case{"acme}k1", "k1", "acme"},
          Case{"acme}k1:api", "k1", "acme"}, Case{"acme}k1:api:0123", "k1", "acme"},
          Case{"acme}:api:group", "acme", ""}, Case{"k1", "", ""}, Case{"}k1", "", ""},
          Case{"", "", ""}}) {
        const auto owner = owner_in(text);
        EXPECT_EQ(owner.id, id) << text;
        EXPECT_EQ(owner.group, group) << text;
    }
}

TEST(GroupIndexTest, GivesEachIdItsGroup) {
    GivenReplies database({{"HMGET group_of_ids", {array_of({"acme", ""})}}});
    const auto keys = GivenReplies::keys();
    const auto owners = run_to_end(owners_of(database, keys, {"k1", "k2"}));
    ASSERT_EQ(owners.size(), 2);
    EXPECT_EQ(keys.ban(owners[0].owner()), keys.ban({"k1", "acme"}));
    EXPECT_TRUE(keys.ban(owners[0].owner()).ends_with("ban:{acme}k1"));
    EXPECT_TRUE(keys.ban(owners[1].owner()).ends_with("ban:{k2}"));
}

TEST(GroupIndexTest, KnowsNoGroupWithoutAnIndex) {
    GivenReplies database({});
    const auto owner = run_to_end(owner_of(database, GivenReplies::keys(), "k1"));
    EXPECT_EQ(owner.id, "k1");
    EXPECT_EQ(owner.group, "");
}

}  // namespace
}  // namespace tollgate::management
