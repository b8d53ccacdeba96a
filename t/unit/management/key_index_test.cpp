// The index of keys, while operations change names, groups, scopes and meta, and the searches that
// use it.

#include "module/management/key_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "module/management/key_operation.hpp"
#include "module/management/key_search.hpp"
#include "t/unit/management/issue.hpp"
#include "t/unit/management/memory_database.hpp"

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;
using IndexEntries = std::vector<std::string>;

class KeyIndexTest : public testing::Test {
  protected:
    MemoryDatabase database_;
    const redis::Keys keys_ = MemoryDatabase::keys();
    KeyIndex index_{database_, keys_};

    KeyOperation operation() {
        return {database_, keys_, {.actor = "a", .action = "set", .id = "i"}};
    }
    /// The digest is that of the id unless another one is given: that of a revoked key is refused.
    void create(const std::string& id, const std::string& name, int created = 0,
                const std::string& digest = {}) {
        StoredKey key{.digest = digest.empty() ? "d" + id : digest,
                      .record = {},
                      .created = std::chrono::sys_seconds(std::chrono::seconds(created))};
        key.record.id = id;
        key.record.name = name;
        key.record.plan = "p";
        issue(database_, std::move(key));
    }
    void update(const std::string& id, std::function<void(KeyRecord&)> change) {
        auto update = operation();
        run_to_end(update.update(id, std::move(change)));
    }
    void rename(const std::string& id, const std::string& name) {
        update(id, [&](KeyRecord& record) { record.name = name; });
    }
    void rotate(const std::string& id, const std::string& digest, std::chrono::seconds overlap) {
        auto rotation = operation();
        run_to_end(rotation.rotate(id, digest, overlap));
        run_to_end(rotation.confirm(digest, id));
    }
    void revoke(const std::string& id) {
        auto revocation = operation();
        run_to_end(revocation.revoke(id));
    }
    /// The entries, without that of a complete index.
    IndexEntries entries() {
        IndexEntries all;
        for (const auto& [entry, score] : database_.data.scores["t:index"]) {
            if (entry != complete_entry()) {
                all.push_back(entry);
            }
        }
        return all;
    }
    /// What the records say.
    IndexEntries expected() {
        KeyReader reader(database_, keys_);
        std::vector<StoredKey> stored;
        for (const auto& [id, score] : database_.data.scores["t:ids"]) {
            auto keys = run_to_end(reader.all_keys(id));
            std::ranges::move(keys.keys, std::back_inserter(stored));
        }
        return entries_of(stored);
    }
    std::vector<std::string> found(const KeyFilter& filter, std::size_t limit = 2) {
        std::vector<std::string> ids;
        KeyQuery query{.filter = filter, .limit = limit, .now = {}};
        do {
            auto page = run_to_end(find_keys(database_, keys_, query));
            EXPECT_TRUE(!page.ids.empty() || !page.next);
            for (const auto& one : page.ids) {
                ids.push_back(one.id);
            }
            query.after = page.next;
        } while (query.after);
        return ids;
    }
};

TEST_F(KeyIndexTest, HasTheNamesOfIds) {
    create("i", "ACME");
    create("j", "");
    create("k", "acme");
    EXPECT_EQ(entries(), (IndexEntries{"name:acme\ni", "name:acme\nk"}));
    rename("i", "Other");
    rename("j", "ÄB");
    EXPECT_EQ(entries(), (IndexEntries{"name:acme\nk", "name:other\ni", "name:äb\nj"}));
    rename("k", "Acme");
    rename("i", "");
    EXPECT_EQ(entries(), (IndexEntries{"name:acme\nk", "name:äb\nj"}));
    revoke("j");
    EXPECT_EQ(entries(), IndexEntries{"name:acme\nk"});
}

TEST_F(KeyIndexTest, LeadsToIdsInTheOrderOfTheirCreation) {
    int created = 100;
    for (const auto* const id : {"d", "c", "b", "a"}) {
        create(id, "", created);
        created -= id[0] == 'c' ? 0 : 1;
    }
    for (const auto* const id : {"a", "b", "c"}) {
        update(id, [](KeyRecord& record) {
            record.group = "team";
            record.scopes = "read";
            record.meta = R"({"tier":"gold"})";
        });
    }
    ASSERT_TRUE(run_to_end(index_.is_complete()));
    const IndexEntries all{"a", "b", "c"};
    EXPECT_EQ(found({.group = "team"}), all);
    EXPECT_EQ(found({.scope = "read"}), all);
    EXPECT_EQ(found({.meta = "tier=gold"}), all);
    EXPECT_EQ(found({.state = "active", .scope = "read", .meta = "tier=gold", .group = "team"}),
              all);
    update("b", [](KeyRecord& record) { record.scopes = "write"; });
    EXPECT_EQ(found({.scope = "read", .group = "team"}), (IndexEntries{"a", "c"}));
    EXPECT_EQ(found({.group = "other"}), IndexEntries{});
    // What an operation that was interrupted, or another program, may leave.
    for (const auto* const entry : {"group:team\n000000000001:d", "group:team\n000000000002:a",
                                    "group:team\n000000000003:nobody", "group:team\nx"}) {
        database_.data.scores["t:index"][entry] = "0";
    }
    EXPECT_EQ(found({.group = "team"}, 1), all);
    // Without an entry, the search does not examine an id.
    database_.data.scores["t:index"].erase("group:team\n000000000099:b");
    EXPECT_EQ(found({.group = "team"}), (IndexEntries{"a", "c"}));
    database_.data.scores["t:index"].erase(complete_entry());
    EXPECT_EQ(found({.group = "team"}), all) << "an index that is not complete is not used";
}

TEST_F(KeyIndexTest, IsCompleteFromTheFirstIdOnOrOnceRebuilt) {
    EXPECT_FALSE(run_to_end(index_.is_complete()));
    create("i", "name");
    EXPECT_TRUE(run_to_end(index_.is_complete()));
    database_.data.scores.erase("t:index");
    create("j", "name");
    EXPECT_FALSE(run_to_end(index_.is_complete()));
    const auto repairs = run_to_end(index_.rebuild());
    EXPECT_EQ(repairs.added, 1);
    EXPECT_EQ(repairs.removed, 0);
    EXPECT_TRUE(run_to_end(index_.is_complete()));
    EXPECT_EQ(entries(), expected());
}

TEST_F(KeyIndexTest, IsRebuiltFromTheRecords) {
    create("i", "name");
    create("j", "other");
    const auto before = entries();
    auto& scores = database_.data.scores["t:index"];
    scores.erase("name:name\ni");
    for (const auto* const untrue :
         {"group:team\n000000000001:i", "name:name\nj", "none:x\ni", "name:x\nnobody"}) {
        scores[untrue] = "0";
    }
    const auto repairs = run_to_end(index_.rebuild());
    EXPECT_EQ(repairs.added, 1);
    EXPECT_EQ(repairs.removed, 4);
    EXPECT_EQ(entries(), before);
}

/// The index may have more entries than the records, and never fewer.
TEST_F(KeyIndexTest, HasEachEntryWhenAnOperationIsInterrupted) {
    for (int calls = 0; calls < 80; ++calls) {
        database_.is_cluster = calls % 2 != 0;
        database_.data = {};
        create("i", "old");
        for (const bool loses_reply : {false, true}) {
            database_.calls_left = calls / 2;
            database_.loses_reply = loses_reply;
            try {
                update("i", [](KeyRecord& record) {
                    record.name = "new";
                    record.group = "team";
                });
            } catch (const OperationError&) {
                // interrupted
            }
            database_.calls_left.reset();
            EXPECT_TRUE(std::ranges::includes(entries(), expected())) << calls;
            update("i", [](KeyRecord& record) {
                record.name = "old";
                record.group.clear();
            });
            EXPECT_TRUE(std::ranges::includes(entries(), IndexEntries{"name:old\ni"})) << calls;
        }
    }
}

TEST_F(KeyIndexTest, KeepsAnEntryThatWasGivenAgainMeanwhile) {
    create("i", "name");
    const std::string id = "i";
    IndexEntries own{"name:name\ni"};
    run_to_end(index_.remove(id, own));
    EXPECT_EQ(entries(), own) << "the key has it";
    IndexEntries others{"group:team\n000000000000:i", "name:other\ni"};
    run_to_end(index_.add(others));
    run_to_end(index_.remove(id, others));
    EXPECT_EQ(entries(), own);
}

/// Whatever operations were executed, with the transactions of one server and of a cluster.
TEST_F(KeyIndexTest, IsWhatTheRecordsSayAfterAnyOperations) {
    std::mt19937 random(4711);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in each run
    const auto below = [&](int end) { return static_cast<int>(random() % end); };
    const std::vector<std::string> texts{"", "a", "b", "c"};
    const auto any_text = [&] { return texts[below(4)]; };
    for (int step = 0; step < 1000; ++step) {
        database_.is_cluster = step >= 500;
        const std::string id(1, static_cast<char>('i' + below(4)));
        const bool exists = database_.data.scores["t:ids"].contains(id);
        const auto kind = below(10);
        if (!exists) {
            create(id, any_text(), below(100), "d" + std::to_string(step));
        } else if (kind == 0) {
            revoke(id);
        } else if (kind == 1) {
            rotate(id, "d" + std::to_string(step), 0s);
        } else if (kind == 2 && database_.data.sets["t:id:{" + id + "}"].size() == 1) {
            rotate(id, "d" + std::to_string(step), 60s);
        } else {
            const auto name = any_text();
            const auto group = any_text();
            const auto scopes = kind == 3 ? "a b" : any_text();
            const auto tier = any_text();
            update(id, [&](KeyRecord& record) {
                record.name = name;
                record.group = group;
                record.scopes = scopes;
                record.meta = tier.empty() ? std::string() : R"({"tier":")" + tier + R"("})";
            });
        }
        ASSERT_EQ(entries(), expected()) << step;
    }
}

TEST_F(KeyIndexTest, EndsAPageThatTakesLong) {
    for (int i = 0; i < 500; ++i) {
        create("i" + std::to_string(i), "n" + std::to_string(i), i);
    }
    update("i499", [](KeyRecord& record) { record.plan = "q"; });
    database_.elapsed_time = 0ms;
    database_.time_of_call = 5s;
    for (const auto& filter :
         {KeyFilter{.plan = "q"}, KeyFilter{.plan = "q", .name = "n"}, KeyFilter{.name = "*499"}}) {
        KeyQuery query{.filter = filter, .limit = 2, .now = {}};
        auto page = run_to_end(find_keys(database_, keys_, query));
        EXPECT_TRUE(page.ids.empty() && page.next);
        for (int pages = 1; page.ids.empty() && page.next && pages < 500; ++pages) {
            query.after = page.next;
            page = run_to_end(find_keys(database_, keys_, query));
        }
        ASSERT_EQ(page.ids.size(), 1) << "the next pages go on";
        EXPECT_EQ(page.ids[0].id, "i499");
    }
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
