// The index of names, and the searches that use it, while operations change names.

#include "module/management/name_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "module/management/key_operation.hpp"
#include "t/unit/management/memory_database.hpp"

namespace tollgate::management {
namespace {

class NameIndexTest : public testing::Test {
  protected:
    MemoryDatabase database_;
    const redis::Keys keys_ = MemoryDatabase::keys();

    KeyOperation operation() {
        return {database_, keys_, {.actor = "a", .action = "set", .id = "i"}};
    }
    void create(const std::string& id, const std::string& name) {
        StoredKey key{.digest = "d" + id, .record = {}};
        key.record.id = id;
        key.record.name = name;
        key.record.plan = "p";
        auto creation = operation();
        run_to_end(creation.create(std::move(key)));
        std::string digest = "d" + id;
        run_to_end(creation.confirm(std::move(digest), id));
    }
    void rename(const std::string& id, const std::string& name) {
        auto change = operation();
        run_to_end(change.update(id, [&](KeyRecord& record) { record.name = name; }));
    }
    std::vector<std::string> members() {
        std::vector<std::string> all;
        for (const auto& [member, score] : database_.data.scores["t:names"]) {
            all.push_back(member);
        }
        return all;
    }
};

using IndexEntries = std::vector<std::string>;

TEST_F(NameIndexTest, HasTheNamesOfIds) {
    create("i", "ACME");
    create("j", "");
    create("k", "acme");
    EXPECT_EQ(members(), (IndexEntries{"acme\ni", "acme\nk"}));
    rename("i", "Other");
    rename("j", "ÄB");
    EXPECT_EQ(members(), (IndexEntries{"acme\nk", "other\ni", "äb\nj"}));
    rename("k", "Acme");
    rename("i", "");
    EXPECT_EQ(members(), (IndexEntries{"acme\nk", "äb\nj"}));
    auto revocation = operation();
    const std::string id = "j";
    run_to_end(revocation.revoke(id));
    EXPECT_EQ(members(), IndexEntries{"acme\nk"});
}

/// The index may have more names than the records, and never fewer.
TEST_F(NameIndexTest, HasEachNameWhenAnOperationIsInterrupted) {
    for (int calls = 0; calls < 40; ++calls) {
        database_.data = {};
        create("i", "old");
        for (const bool loses_reply : {false, true}) {
            database_.calls_left = calls;
            database_.loses_reply = loses_reply;
            try {
                rename("i", "new");
            } catch (const OperationError&) {
                // interrupted
            }
            database_.calls_left.reset();
            const auto name = database_.data.hashes["t:key:di"]["name"];
            const auto all = members();
            EXPECT_EQ(std::ranges::count(all, name + "\ni"), 1) << calls;
            rename("i", "old");
            EXPECT_EQ(std::ranges::count(members(), "old\ni"), 1) << calls;
        }
    }
}

TEST_F(NameIndexTest, KeepsANameThatWasGivenAgainMeanwhile) {
    create("i", "name");
    NameIndex index(database_, keys_);
    const std::string id = "i";
    const std::string name = "name";
    run_to_end(index.remove(id, name));
    EXPECT_EQ(members(), IndexEntries{"name\ni"}) << "the key has it";
    const std::string other = "other";
    run_to_end(index.add(id, other));
    run_to_end(index.remove(id, other));
    EXPECT_EQ(members(), IndexEntries{"name\ni"});
}

TEST(IndexedName, IsRepeatedByItsCursor) {
    for (const IndexedName& name : {IndexedName{"acme: a", "k.1"}, IndexedName{"é", "x"}}) {
        EXPECT_EQ(IndexedName::of_cursor(name.cursor()), name);
    }
    for (const auto* const text : {"", "acme", ":acme", "a b:acme", "a:\n"}) {
        EXPECT_FALSE(IndexedName::of_cursor(text)) << text;
    }
}

}  // namespace
}  // namespace tollgate::management
