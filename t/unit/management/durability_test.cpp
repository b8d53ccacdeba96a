#include "module/management/durability.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "module/management/key_operation.hpp"
#include "t/unit/management/given_replies.hpp"

namespace tollgate::management {
namespace {

/// A Redis without keys. Its acknowledgements are given; the last one is repeated.
class FailingOver final : public ReplyingDatabase {
  public:
    explicit FailingOver(std::vector<Durability> acknowledgements)
        : acknowledgements_(std::move(acknowledgements)) {}

    Task<Durability> acknowledge() override {
        co_return acknowledgements_[std::min(next_++, acknowledgements_.size() - 1)];
    }

  private:
    redis::Value reply_to(const redis::Command& /*command*/) override { return {}; }

    std::vector<Durability> acknowledgements_;
    std::size_t next_ = 0;
};

TEST(ExecuteDurably, RepeatsAnOperationThatAFailoverMayHaveUndone) {
    FailingOver database({Durability::kUndone, Durability::kUndone, Durability::kUnconfirmed});
    std::vector<bool> executions;
    const auto operation = [&](bool again) -> Task<void> {
        executions.push_back(again);
        co_return;
    };
    EXPECT_EQ(run_to_end(execute_durably(database, operation)), Durability::kUnconfirmed);
    EXPECT_EQ(executions, (std::vector<bool>{false, true, true}));
}

TEST(ExecuteDurably, DoesNotBelieveTheRefusalOfAServerThatIsNoMaster) {
    FailingOver database({Durability::kUndone, Durability::kConfirmed});
    const auto operation = [](bool again) -> Task<void> {
        if (!again) {
            throw OperationError(Reason::kConcurrentChange, "nothing has changed it");
        }
        co_return;
    };
    EXPECT_EQ(run_to_end(execute_durably(database, operation)), Durability::kConfirmed);
}

TEST(ExecuteDurably, PassesARefusalOn) {
    FailingOver database({Durability::kConfirmed});
    const auto operation = [](bool /*again*/) -> Task<void> {
        throw OperationError(Reason::kIdExists, "it exists");
        co_return;
    };
    EXPECT_THROW(run_to_end(execute_durably(database, operation)), OperationError);
}

TEST(ExecuteDurably, GivesUp) {
    FailingOver database({Durability::kUndone});
    int executions = 0;
    const auto operation = [&](bool /*again*/) -> Task<void> {
        ++executions;
        co_return;
    };
    EXPECT_THROW(run_to_end(execute_durably(database, operation)), OperationError);
    EXPECT_EQ(executions, 10);
}

/// A failover has undone a key that was printed: no operation has replaced it.
TEST(KeyOperationAfterAFailover, AKeyThatIsGoneIsNotReplaced) {
    FailingOver database({Durability::kUndone, Durability::kConfirmed});
    const auto keys = GivenReplies::keys();
    const AuditEntry entry{.actor = "a", .action = "issue", .id = "i", .detail = ""};
    KeyOperation operation(database, keys, entry);
    const std::string digest(64, 'a');
    const std::string id = "i";
    EXPECT_THROW(run_to_end(operation.confirm(digest, id)), OperationError);
    bool is_there = true;
    const auto confirm = [&](bool again) -> Task<void> {
        is_there = co_await operation.confirm_if_there(digest, id, again);
    };
    EXPECT_EQ(run_to_end(execute_durably(database, confirm)), Durability::kConfirmed);
    EXPECT_FALSE(is_there) << "the command stores it again";
}

/// The set of an id may be on another master than its keys, and keep its removal.
TEST(KeyOperationAfterAFailover, ARevocationEndsItsKeysAgain) {
    const auto keys = GivenReplies::keys();
    class Recording final : public ReplyingDatabase {
      public:
        bool may_span(std::string_view /*key*/, std::string_view /*other*/) const override {
            return false;
        }

        bool has_set = true;
        bool has_key = true;

      private:
        redis::Value reply_to(const redis::Command& command) override {
            if (command.front() == "TIME") {
                return array_of({"1000", "0"});
            }
            if (command.front() == "SMEMBERS") {
                return has_set ? array_of({"d"}) : array_of({});
            }
            if (command.front() == "HGETALL") {
                return has_key ? array_of({"id", "i", "plan", "p"}) : array_of({});
            }
            if (command.front() == "HSET" && command.at(1) == "t:key:d") {
                has_key = command.at(2) != "revoked";
            } else if (command.front() == "DEL" && command.at(1) == "t:id:i") {
                has_set = false;
            }
            return command.front() == "ZSCORE" ? redis::Value{} : value_of(1);
        }
    };
    Recording database;
    const AuditEntry entry{.actor = "a", .action = "revoke", .id = "i", .detail = ""};
    KeyOperation operation(database, keys, entry);
    const std::string id = "i";
    run_to_end(operation.revoke(id));
    ASSERT_FALSE(database.has_key);
    database.has_key = true;
    operation.begin_again();
    run_to_end(operation.revoke(id));
    EXPECT_FALSE(database.has_key);
}

}  // namespace
}  // namespace tollgate::management
