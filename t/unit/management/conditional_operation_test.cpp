#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "module/management/key_operation.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/operations.hpp"
#include "t/unit/management/issue.hpp"
#include "t/unit/management/memory_database.hpp"

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;

/// An operation requires a version, and executes again because of a failover.
class ConditionalOperationTest : public testing::Test {
  protected:
    using Operate = std::function<Task<void>(KeyOperation&)>;

    ConditionalOperationTest() {
        issue(database_, "acme", "first");
        version_ = version_of(stored());
    }

    KeyOperation unconditional() {
        return {database_, keys_, {.actor = "a", .action = "x", .id = "acme"}};
    }

    KeyOperation conditional() {
        return {database_,
                keys_,
                {.actor = "a", .action = "x", .id = "acme"},
                [this](const std::optional<std::string>& version) { return version == version_; }};
    }

    KeysOfId stored() {
        KeyReader reader(database_, keys_);
        return run_to_end(reader.all_keys("acme"));
    }

    /// Executes an operation twice, because the first acknowledgement finds another master.
    void execute_twice(KeyOperation& operation, const Operate& operate,
                       std::function<void()> at_failover) {
        database_.acknowledged = [failover = std::move(at_failover), is_first = true]() mutable {
            if (!std::exchange(is_first, false)) {
                return Durability::kConfirmed;
            }
            failover();
            return Durability::kUndone;
        };
        const std::function<Task<void>()> part = [&] { return operate(operation); };
        run_to_end(execute_durably(database_, operation, part));
    }

    void rename_by_another() {
        auto other = unconditional();
        run_to_end(other.update("acme", [](KeyRecord& record) { record.name = "by another"; }));
    }

    static Task<void> rename(KeyOperation& operation) {
        const std::function<void(KeyRecord&)> change = [](KeyRecord& record) {
            record.name = "own";
        };
        co_await operation.update("acme", change);
    }

    Operate rotate(std::chrono::seconds overlap, std::string request) {
        return
            [this, overlap, request = std::move(request)](KeyOperation& operation) -> Task<void> {
                co_await operation.rotate("acme", "new" + std::to_string(++executions_), overlap,
                                          request);
            };
    }

    static Task<void> revoke(KeyOperation& operation) { co_await operation.revoke("acme"); }

    /// All operations under test.
    std::vector<Operate> operations() {
        return {rename,
                revoke,
                rotate(0s, ""),
                rotate(1h, ""),
                rotate(0s, "request"),
                rotate(1h, "request")};
    }

    MemoryDatabase database_;
    redis::Keys keys_ = MemoryDatabase::keys();
    std::optional<std::string> version_;
    int executions_ = 0;
};

TEST_F(ConditionalOperationTest, IsExecutedIfTheVersionIsThere) {
    const auto before = database_.data;
    for (const auto& operate : operations()) {
        database_.data = before;
        auto operation = conditional();
        run_to_end(operate(operation));
        EXPECT_NE(version_of(stored()), version_);
    }
}

TEST_F(ConditionalOperationTest, ChangesNothingIfItIsNot) {
    rename_by_another();
    const auto before = database_.data;
    for (const auto& operate : operations()) {
        auto operation = conditional();
        EXPECT_THROW(run_to_end(operate(operation)), OperationError);
        EXPECT_EQ(database_.data, before);
    }
}

TEST_F(ConditionalOperationTest, NoticesAChangeAfterTheEvaluation) {
    const auto before = database_.data;
    for (const auto& operate : operations()) {
        database_.data = before;
        database_.before_change = [&] { rename_by_another(); };
        auto operation = conditional();
        EXPECT_THROW(run_to_end(operate(operation)), OperationError);
        EXPECT_EQ(stored().keys.front().record.name, "by another");
        EXPECT_EQ(stored().keys.size(), 1U);
    }
}

TEST_F(ConditionalOperationTest, IsNotRefusedForWhatItHasDoneItself) {
    const auto before = database_.data;
    for (const auto& operate : operations()) {
        database_.data = before;
        auto operation = conditional();
        EXPECT_NO_THROW(execute_twice(operation, operate, [] {}));
        EXPECT_NE(version_of(stored()), version_);
    }
}

TEST_F(ConditionalOperationTest, IsExecutedAgainIfAFailoverHasUndoneIt) {
    const auto before = database_.data;
    for (const auto& operate : operations()) {
        database_.data = before;
        auto operation = conditional();
        EXPECT_NO_THROW(execute_twice(operation, operate, [&] { database_.data = before; }));
        EXPECT_NE(version_of(stored()), version_);
    }
}

TEST_F(ConditionalOperationTest, IsRefusedIfAnotherOneIsThereInItsPlace) {
    const auto before = database_.data;
    for (const auto& operate : {Operate(rename), rotate(0s, ""), rotate(1h, "request")}) {
        database_.data = before;
        auto operation = conditional();
        const auto failover = [&] {
            database_.data = before;
            rename_by_another();
        };
        EXPECT_THROW(execute_twice(operation, operate, failover), OperationError);
        EXPECT_EQ(stored().keys.front().record.name, "by another");
    }
}

TEST_F(ConditionalOperationTest, IsCompletedByTheSameRequest) {
    const auto before = database_.data;
    for (const auto overlap : {0s, std::chrono::seconds(1h)}) {
        // Interrupted after each transaction with a condition.
        for (int steps = 1; steps < 6; ++steps) {
            database_.data = before;
            auto first = conditional();
            int step = 0;
            const std::function<void()> interrupt = [&] {
                if (++step > steps) {
                    throw OperationError(Reason::kUnavailable, "interrupted");
                }
                database_.before_change = interrupt;
            };
            database_.before_change = interrupt;
            const auto operate = rotate(overlap, "request");
            try {
                run_to_end(operate(first));
            } catch (const OperationError& error) {
                EXPECT_EQ(error.reason(), Reason::kUnavailable);
            }
            database_.before_change = nullptr;
            auto again = conditional();
            EXPECT_NO_THROW(run_to_end(operate(again))) << steps;
            auto other = conditional();
            EXPECT_THROW(run_to_end(rotate(overlap, "other")(other)), OperationError) << steps;
        }
    }
}

}  // namespace
}  // namespace tollgate::management
