#include "module/management/acknowledgement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "module/management/admin/admin_api.hpp"
#include "module/management/key_operation.hpp"
#include "t/unit/management/given_replies.hpp"
#include "t/unit/management/memory_database.hpp"
#include "t/unit/management/test_rights.hpp"

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

/// A deployment whose answers are given. Each question takes a tenth of a second.
class GivenDeployment final : public AskedDeployment {
  public:
    std::vector<Answer> roles;
    std::vector<Answer> confirmations;
    Electors asked = Electors::kNone;
    std::vector<std::optional<redis::Presence>> presences;  ///< the last one is repeated
    std::vector<bool> is_last_of_questions;

    std::size_t used_servers() const override { return roles.size(); }
    Task<Answer> ask_role(std::size_t server) override { co_return roles.at(server); }
    Task<Answer> await_replica(std::size_t server) override { co_return confirmations.at(server); }
    Electors electors() override { return asked; }
    Task<std::optional<redis::Presence>> ask_presence(bool is_last) override {
        time_ += std::chrono::milliseconds(100);
        is_last_of_questions.push_back(is_last);
        co_return presences[std::min(is_last_of_questions.size(), presences.size()) - 1];
    }
    std::chrono::steady_clock::time_point now() const override { return time_; }

  private:
    std::chrono::steady_clock::time_point time_;
};

redis::Value error_of(std::string text) {
    redis::Value error;
    error.kind = redis::Value::Kind::kError;
    error.text = std::move(text);
    return error;
}

/// A reply to ROLE of a master with so many replicas.
redis::Value master_with(std::size_t replicas) {
    auto role = array_of({"master"});
    role.elements.push_back(value_of(0));
    auto list = array_of({});
    list.elements.resize(replicas, array_of({"127.0.0.1", "1", "0"}));
    role.elements.push_back(list);
    return role;
}

Durability durability_in(GivenDeployment& deployment) {
    FailingOver database({Durability::kConfirmed});
    return run_to_end(acknowledge_changes(database, deployment));
}

/// The durability if one master without electors answers so.
Durability durability_with(Answer role, Answer confirmation = value_of(1)) {
    GivenDeployment deployment;
    deployment.roles = {std::move(role)};
    deployment.confirmations = {std::move(confirmation)};
    return durability_in(deployment);
}

TEST(AcknowledgeChanges, AReplicaConfirms) {
    EXPECT_EQ(durability_with(master_with(1)), Durability::kConfirmed);
    EXPECT_EQ(durability_with(master_with(1), value_of(0)), Durability::kUnconfirmed);
    EXPECT_EQ(durability_with(master_with(1), redis::Value{}), Durability::kUnverified);
    EXPECT_EQ(durability_with(master_with(0), value_of(0)), Durability::kConfirmed)
        << "there is none";
}

TEST(AcknowledgeChanges, OnlyADeniedCommandIsForbidden) {
    const auto denied = error_of("NOPERM this user has no permissions to run the 'role' command");
    const auto loading = error_of("LOADING Redis is loading the dataset in memory");
    EXPECT_EQ(durability_with(denied), Durability::kForbidden);
    EXPECT_EQ(durability_with(loading), Durability::kUnverified);
    EXPECT_EQ(durability_with(master_with(1), denied), Durability::kForbidden);
    EXPECT_EQ(durability_with(master_with(1), loading), Durability::kUnverified);
}

TEST(AcknowledgeChanges, AnotherRoleThanThatOfAMaster) {
    EXPECT_EQ(durability_with(array_of({"slave", "h", "1"})), Durability::kUndone);
    EXPECT_EQ(durability_with(array_of({"sentinel"})), Durability::kUnverified);
    EXPECT_EQ(durability_with(redis::Value{}), Durability::kUnverified);
}

TEST(AcknowledgeChanges, NoAnswer) {
    EXPECT_EQ(durability_with(NoAnswer::kSilent), Durability::kUnverified);
    EXPECT_EQ(durability_with(NoAnswer::kLinkLost), Durability::kUndone);
    EXPECT_EQ(durability_with(master_with(1), NoAnswer::kSilent), Durability::kUnverified);
    EXPECT_EQ(durability_with(master_with(1), NoAnswer::kLinkLost), Durability::kUndone);
}

TEST(AcknowledgeChanges, TheWorstServerCounts) {
    GivenDeployment deployment;
    deployment.asked = Electors::kMasters;
    deployment.presences = {redis::Presence::kPresent};
    deployment.roles = {error_of("NOPERM"), master_with(1), error_of("LOADING"), master_with(0)};
    deployment.confirmations = {value_of(1), value_of(0), value_of(1), value_of(1)};
    EXPECT_EQ(durability_in(deployment), Durability::kUnverified);
    deployment.roles[2] = master_with(1);
    EXPECT_EQ(durability_in(deployment), Durability::kForbidden);
    deployment.roles[0] = master_with(1);
    EXPECT_EQ(durability_in(deployment), Durability::kUnconfirmed);
}

/// It is worse than a replica that may not be asked for.
TEST(AcknowledgeChanges, TheMasterIsUnknown) {
    GivenDeployment deployment;
    deployment.roles = {error_of("NOPERM")};
    deployment.asked = Electors::kSentinels;
    deployment.presences = {redis::Presence::kPresent};
    EXPECT_EQ(durability_in(deployment), Durability::kForbidden);
    deployment.presences = {redis::Presence::kUnknown};
    EXPECT_EQ(durability_in(deployment), Durability::kUnverified);
    deployment.presences = {redis::Presence::kReplaced};
    EXPECT_EQ(durability_in(deployment), Durability::kUndone);
}

TEST(AcknowledgeChanges, ElectorsAreAskedUntilTheyAgree) {
    GivenDeployment deployment;
    deployment.roles = {master_with(0)};
    deployment.asked = Electors::kSentinels;
    deployment.presences = {std::nullopt, std::nullopt, redis::Presence::kReplaced};
    EXPECT_EQ(durability_in(deployment), Durability::kUndone);
    EXPECT_EQ(deployment.is_last_of_questions, (std::vector<bool>{false, false, false}));
}

TEST(AcknowledgeChanges, ElectorsThatDoNotAgree) {
    for (const auto& [electors, questions] :
         {std::pair(Electors::kSentinels, 51U), std::pair(Electors::kMasters, 11U)}) {
        GivenDeployment deployment;
        deployment.roles = {master_with(0)};
        deployment.asked = electors;
        deployment.presences = {std::nullopt};
        EXPECT_EQ(durability_in(deployment), Durability::kUnverified);
        std::vector<bool> expected(questions, false);
        expected.back() = true;
        EXPECT_EQ(deployment.is_last_of_questions, expected);
    }
}

TEST(AcknowledgeChanges, NobodyIsAskedInVain) {
    GivenDeployment deployment;
    deployment.asked = Electors::kSentinels;
    EXPECT_EQ(durability_in(deployment), Durability::kConfirmed) << "no call was made";
    deployment.roles = {master_with(0), master_with(0)};
    EXPECT_EQ(durability_in(deployment), Durability::kUndone) << "Sentinels monitor one master";
    deployment.roles = {array_of({"slave"})};
    EXPECT_EQ(durability_in(deployment), Durability::kUndone);
    EXPECT_TRUE(deployment.is_last_of_questions.empty());
}

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

TEST(AdminApiTest, ARefusalIsThatOfAMaster) {
    MemoryDatabase database;
    const redis::Keys keys = MemoryDatabase::keys();
    const auto status_of = [&](const std::string& method, const std::string& path) {
        TestRights rights;
        AdminRequest request{.method = method,
                             .path = ResourcePath::of_decoded(path),
                             .body = method == "POST" ? R"({"units":1,"reference":"r"})" : "",
                             .actor = "key:portal"};
        return run_to_end(handle(database, keys, {}, rights, std::move(request))).status;
    };
    const std::vector<std::pair<std::string, std::string>> requests{
        {"POST", "keys/nobody/credit"},
        {"POST", "groups/none/credit"},
        {"DELETE", "groups/none"},
    };
    for (const auto& [method, path] : requests) {
        database.acknowledged = nullptr;
        EXPECT_EQ(status_of(method, path), 404) << method << " " << path;
        database.acknowledged = [] { return Durability::kUndone; };
        EXPECT_EQ(status_of(method, path), 503) << method << " " << path;
    }
}

}  // namespace
}  // namespace tollgate::management
