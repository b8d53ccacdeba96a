// Another operation is executed between two transactions of an operation on an id. An operation
// that reports success has done what it promises.

#include "t/unit/management/interleaving.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/key_operation.hpp"
#include "module/management/key_reader.hpp"
#include "t/unit/management/issue.hpp"

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;

/// The id `acme` has one key, `first`. The parameter says whether each key of Redis has a slot of
/// its own.
class InterleavingTest : public testing::TestWithParam<bool> {
  protected:
    using Operation = Interleaving::Operation;

    InterleavingTest() {
        database_.is_cluster = GetParam();
        issue(database_, "acme", "first");
    }

    Operation rotate(std::chrono::seconds overlap) {
        return [this, overlap](Database& database) -> Task<void> {
            KeyOperation operation(database, keys_, {.actor = "a", .action = "x", .id = "acme"});
            std::string digest = "next";
            std::string id = "acme";
            co_await operation.rotate(id, digest, overlap);
            co_await operation.confirm(digest, id);
        };
    }

    Operation change(std::function<void(KeyRecord&)> change, bool is_conditional) {
        return
            [this, change = std::move(change), is_conditional](Database& database) -> Task<void> {
                AcceptsVersion condition;
                if (is_conditional) {
                    condition = [](const std::optional<std::string>&) { return true; };
                }
                KeyOperation operation(database, keys_, {.actor = "a", .action = "x", .id = "acme"},
                                       std::move(condition));
                std::string id = "acme";
                co_await operation.update(id, change);
            };
    }
    Operation disable(bool is_conditional = false) {
        return change([](KeyRecord& record) { record.active = false; }, is_conditional);
    }
    Operation rename() {
        return change([](KeyRecord& record) { record.name = "new"; }, false);
    }

    /// The keys that gateways accept.
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

    /// Executes `first` with `second` after each number of its transactions. Expects that no key
    /// is valid if the disabling succeeds, which has this index. Returns how often it succeeded.
    int count_disabled(const Operation& first, const Operation& second, std::size_t disabling) {
        const auto start = database_.data;
        int succeeded = 0;
        bool is_between = true;
        for (int steps = 0; is_between; ++steps) {
            database_.data = start;
            Interleaving run(database_, {first, second});
            for (int i = 0; i < steps && !run.is_done(0); ++i) {
                run.step(0);
            }
            is_between = !run.is_done(0);
            run.finish(1);
            run.finish(0);
            if (!run.failure(disabling)) {
                ++succeeded;
                EXPECT_EQ(valid_keys(), std::vector<std::string>()) << steps;
            }
        }
        database_.data = start;
        return succeeded;
    }

    MemoryDatabase database_;
    redis::Keys keys_ = MemoryDatabase::keys();
};

TEST_P(InterleavingTest, AKeyIsDisabledWhateverARotationDoes) {
    for (const auto overlap : {0s, std::chrono::seconds(1h)}) {
        EXPECT_GT(count_disabled(disable(), rotate(overlap), 0), 5);
        EXPECT_GT(count_disabled(rotate(overlap), disable(), 1), 5);
        count_disabled(disable(true), rotate(overlap), 0);
    }
}

TEST_P(InterleavingTest, ARetiringKeyWithoutASuccessorIsDisabled) {
    database_.data.expiring.insert("t:key:first");
    EXPECT_GT(count_disabled(disable(), rotate(1h), 0), 5);
    count_disabled(disable(true), rotate(1h), 0);
    count_disabled(rotate(1h), disable(), 1);
}

TEST_P(InterleavingTest, NoKeyIsValidAgainWhileAnotherChangeEnds) {
    Interleaving(database_, {rotate(1h)}).finish(0);
    ASSERT_EQ(valid_keys().size(), 2U);
    const auto start = database_.data;
    int checks = 0;
    bool is_between = true;
    for (int steps = 0; is_between; ++steps) {
        database_.data = start;
        Interleaving run(database_, {rename(), disable()});
        for (int i = 0; i < steps && !run.is_done(0); ++i) {
            run.step(0);
        }
        is_between = !run.is_done(0);
        run.finish(1);
        EXPECT_FALSE(run.failure(1));
        // In a cluster, the other key may be valid until the change that made it so has ended.
        for (; !run.is_done(0) && !database_.is_cluster; ++checks) {
            run.step(0);
            EXPECT_EQ(valid_keys(), std::vector<std::string>()) << steps;
        }
        run.finish(0);
        EXPECT_EQ(valid_keys(), std::vector<std::string>()) << steps;
    }
    EXPECT_GT(checks, database_.is_cluster ? -1 : 20);
}

TEST_P(InterleavingTest, AnIdThatChangesAllTheTimeIsNotReadForEver) {
    KeyReader reader(database_, keys_);
    int changes = 0;
    const std::function<void()> change_again = [&] {
        database_.data.hashes["t:key:first"]["name"] = std::to_string(++changes);
        database_.calls_before = 0;
        database_.before_call = change_again;
    };
    database_.before_call = change_again;
    try {
        run_to_end(reader.find("acme"));
        FAIL() << "a snapshot of an id that changes between all reads";
    } catch (const OperationError& error) {
        EXPECT_EQ(error.reason(), Reason::kConcurrentChange);
    }
    EXPECT_LT(changes, 100);
    database_.before_call = nullptr;
    EXPECT_EQ(run_to_end(reader.find("acme")).keys.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Deployments, InterleavingTest, testing::Bool());

}  // namespace
}  // namespace tollgate::management
