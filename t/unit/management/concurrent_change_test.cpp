// An operation on an id is executed between two calls of another one, or the other one is
// interrupted. In the end, the keys of the id are those that one order of the operations leaves.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/admin/admin_api.hpp"
#include "module/management/bulk_import.hpp"
#include "module/management/key_operation.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/operations.hpp"
#include "t/unit/management/issue.hpp"
#include "t/unit/management/memory_database.hpp"
#include "t/unit/management/test_rights.hpp"

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;

/// The id `acme` is in its overlap: `first` is retiring, `second` is current. The parameter says
/// whether each key of Redis has a slot of its own.
class ConcurrentChangeTest : public testing::TestWithParam<bool> {
  protected:
    /// More calls than an operation has.
    static constexpr int kMostCalls = 80;
    using Operate = std::function<void()>;

    ConcurrentChangeTest() {
        database_.is_cluster = GetParam();
        issue_first();
        rotate("second", 1h)();
        start_ = database_.data;
    }

    KeyOperation new_operation() {
        return {database_, keys_, {.actor = "a", .action = "x", .id = "acme"}};
    }

    void issue_first() {
        StoredKey key{.digest = "first"};
        key.record.id = "acme";
        key.record.plan = "free";
        key.record.name = "old";
        issue(database_, std::move(key));
    }

    Operate rotate(std::string digest, std::chrono::seconds overlap) {
        return [this, digest = std::move(digest), overlap] {
            auto operation = new_operation();
            run_to_end(operation.rotate("acme", digest, overlap));
            run_to_end(operation.confirm(digest, "acme"));
        };
    }

    Operate change(std::function<void(KeyRecord&)> change) {
        return [this, change = std::move(change)] {
            auto operation = new_operation();
            run_to_end(operation.update("acme", change));
        };
    }
    Operate rename(const std::string& name) {
        return change([=](KeyRecord& record) { record.name = name; });
    }
    Operate regroup(const std::string& group) {
        return change([=](KeyRecord& record) { record.group = group; });
    }

    Operate revoke() {
        return [this] {
            auto operation = new_operation();
            run_to_end(operation.revoke("acme"));
        };
    }

    /// Executes an operation that may be refused because of another one.
    static void attempt(const Operate& operate) {
        try {
            operate();
        } catch (const OperationError&) {
            return;
        }
    }

    /// Executes `operate`, and after that number of calls of it the other one. Returns whether it
    /// has so many.
    bool execute_both(const Operate& operate, const Operate& other, int calls) {
        database_.data = start_;
        database_.calls_before = calls;
        database_.before_call = [&] { attempt(other); };
        attempt(operate);
        return std::exchange(database_.before_call, nullptr) == nullptr;
    }

    /// Executes the first calls of an operation. Returns whether it has more.
    bool interrupt(const Operate& operate, int calls) {
        database_.calls_left = calls;
        attempt(operate);
        const bool is_interrupted = *database_.calls_left < 0;
        database_.calls_left.reset();
        return is_interrupted;
    }

    std::vector<std::string> names() {
        KeyReader reader(database_, keys_);
        std::vector<std::string> names;
        for (const auto& key : run_to_end(reader.all_keys("acme")).keys) {
            names.push_back(key.record.name);
        }
        return names;
    }

    /// The keys that gateways accept, whether an id lists them or not.
    std::vector<std::string> valid_keys() const {
        std::vector<std::string> valid;
        for (const auto& [name, hash] : database_.data.hashes) {
            const auto state = hash.find("state");
            if (name.starts_with("t:key:") && state != hash.end() && state->second == "active") {
                valid.push_back(name.substr(std::string_view("t:key:").size()));
            }
        }
        return valid;
    }

    /// What the index has of an id.
    std::vector<std::string> indexed(std::string_view id) {
        std::vector<std::string> entries;
        for (const auto& [entry, score] : database_.data.scores["t:index"]) {
            if (entry.ends_with("\n" + std::string(id))) {
                entries.push_back(entry);
            }
        }
        return entries;
    }

    using Names = std::vector<std::string>;

    TestRights rights_;
    MemoryDatabase database_;
    redis::Keys keys_ = MemoryDatabase::keys();
    MemoryDatabase::Data start_;
};

TEST_P(ConcurrentChangeTest, AChangeMakesKeysEqualThatAnInterruptedOneHasLeft) {
    int calls = 0;
    for (bool is_interrupted = true; is_interrupted; ++calls) {
        database_.data = start_;
        is_interrupted = interrupt(rename("a"), calls);
        database_.announced.clear();
        rename("b")();
        EXPECT_EQ(names(), Names(2, "b")) << calls;
        EXPECT_EQ(database_.announced, (std::set<std::string>{"acme", "first", "second"}));
    }
    EXPECT_GT(calls, 6);
}

TEST_P(ConcurrentChangeTest, ARevocationKeepsTheGroupThatTheIdHad) {
    rotate("sole", 0s)();
    for (const std::string group : {"", "team"}) {
        const std::string other = group.empty() ? "team" : "";
        regroup(group)();
        start_ = database_.data;
        for (int calls = 0; calls < kMostCalls; ++calls) {
            bool is_changed = false;
            const Operate change = [&] {
                regroup(other)();
                is_changed = true;
            };
            execute_both(change, revoke(), calls);
            auto& index = database_.data.hashes["t:group_of_ids"];
            EXPECT_EQ(index.contains("acme") ? index["acme"] : std::string(),
                      is_changed ? other : group)
                << calls;
        }
        database_.data = start_;
    }
}

TEST_P(ConcurrentChangeTest, ASecondRevocationCompletesAnInterruptedOne) {
    for (int claimed = 0; claimed < kMostCalls; ++claimed) {
        const Operate rotate_then_revoke = [&] {
            database_.calls_before = claimed;
            database_.before_call = [&] { attempt(rotate("third", 0s)); };
            attempt(revoke());
            database_.before_call = nullptr;
        };
        int calls = 0;
        for (bool is_interrupted = true; is_interrupted; calls += 7) {
            database_.data = start_;
            is_interrupted = interrupt(rotate_then_revoke, calls);
            attempt(revoke());
            EXPECT_EQ(valid_keys(), Names()) << claimed << " " << calls;
        }
    }
}

TEST_P(ConcurrentChangeTest, ASecondRevocationEndsAKeyThatIsValidAgain) {
    const auto end = [&](const Operate& again) {
        database_.data = start_;
        const auto hash = database_.data.hashes["t:key:first"];
        revoke()();
        EXPECT_TRUE(database_.data.expiring.contains("t:ended:{acme}"));
        database_.data.hashes["t:key:first"] = hash;  // a failover has undone this only
        database_.announced.clear();
        again();
        EXPECT_EQ(valid_keys(), Names());
        EXPECT_TRUE(database_.announced.contains("first"));
        EXPECT_EQ(indexed("acme"), Names());
    };
    end(revoke());
    end([&] {
        AdminRequest request{.method = "DELETE",
                             .path = ResourcePath::of_decoded("keys/acme"),
                             .body = "",
                             .actor = "key:portal"};
        EXPECT_EQ(run_to_end(handle(database_, keys_, {}, rights_, std::move(request))).status,
                  204);
    });
    end([&] {  // the id was issued again meanwhile, with another key
        auto operation = new_operation();
        StoredKey key{.digest = "other"};
        key.record.id = "acme";
        key.record.plan = "free";
        run_to_end(operation.create(std::move(key)));
        revoke()();
    });
}

TEST_P(ConcurrentChangeTest, ARevocationIsAcknowledgedAgain) {
    const Caller caller{.database = database_, .keys = keys_, .actor = "a"};
    for (const auto durability : {Durability::kUnconfirmed, Durability::kConfirmed}) {
        database_.acknowledged = [durability] { return durability; };
        EXPECT_EQ(run_to_end(revoke_keys(caller, "acme")), durability);
    }
    EXPECT_THROW(run_to_end(revoke_keys(caller, "nobody")), OperationError);
}

/// Imports of keys into ids.
class ConcurrentImportTest : public ConcurrentChangeTest {
  protected:
    /// A record of a file.
    struct Line {
        std::string id;
        std::string digest;
    };

    /// Imports these records. Their ids are their names too.
    ImportCounts import_all(const std::vector<Line>& lines) {
        std::vector<BulkImport::Record> records;
        for (const auto& line : lines) {
            StoredKey key{.digest = line.digest};
            key.record.id = line.id;
            key.record.name = line.id + line.digest;
            key.record.plan = "free";
            KeysOfId keys{.id = line.id, .keys = {}};
            keys.keys.push_back(std::move(key));
            records.push_back({.line = records.size() + 1, .keys = std::move(keys)});
        }
        const BulkImport::Refuse refuse = [](std::size_t /*line*/, const std::string& /*why*/) {};
        BulkImport import(database_, keys_, refuse);
        run_to_end(import.store(std::move(records)));
        return import.counts();
    }

    /// Expects that Redis has nothing of an id.
    void expect_nothing(const std::string& id) {
        EXPECT_EQ(indexed(id), Names());
        EXPECT_FALSE(database_.data.sets.contains("t:id:{" + id + "}"));
        EXPECT_FALSE(database_.data.scores["t:ids"].contains(id));
    }
};

TEST_P(ConcurrentImportTest, TheFirstOfTwoRecordsWithOneKeyIsStored) {
    const auto counts = import_all({{"one", "k"}, {"two", "k"}, {"three", "l"}});
    EXPECT_EQ(counts.imported, 2U);
    EXPECT_EQ(counts.refused, 1U);
    expect_nothing("two");
    EXPECT_EQ(indexed("one"), Names(1, "name:onek\none"));
}

TEST_P(ConcurrentImportTest, TheFirstOfTwoRecordsOfOneIdIsStored) {
    const auto counts = import_all({{"one", "k"}, {"one", "l"}});
    EXPECT_EQ(counts.imported, 1U);
    EXPECT_EQ(counts.refused, 1U);
    EXPECT_EQ(indexed("one"), Names(1, "name:onek\none"));
    EXPECT_EQ(database_.data.sets["t:id:{one}"], std::set<std::string>{"k"});
}

TEST_P(ConcurrentImportTest, ARecordWhoseKeyAnotherImportStoresLeavesNothing) {
    bool is_stored = false;
    int calls = 0;
    const Operate operate = [&] { is_stored = import_all({{"one", "k"}}).imported == 1; };
    for (; execute_both(
             operate,
             [&] {
                 import_all({{"two", "k"}});
             },
             calls);
         ++calls) {
        expect_nothing(is_stored ? "two" : "one");
        EXPECT_EQ(indexed(is_stored ? "one" : "two").size(), 1U);
    }
    EXPECT_GT(calls, 1);
}

INSTANTIATE_TEST_SUITE_P(Deployments, ConcurrentChangeTest, testing::Bool());
INSTANTIATE_TEST_SUITE_P(Deployments, ConcurrentImportTest, testing::Bool());

}  // namespace
}  // namespace tollgate::management
