#include "module/management/acknowledgement.hpp"

#include <algorithm>
#include <utility>

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/topology/sentinel_replies.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;
using redis::Presence;

// A failover ends in a few seconds.
constexpr int kMostExecutions = 10;
constexpr auto kPauseBetweenExecutions = 500ms;

/// How long Sentinels are asked while one of them promotes a replica, and masters of a cluster
/// while they disagree.
constexpr std::chrono::milliseconds kFailoverTime = 5s;
constexpr std::chrono::milliseconds kAgreementTime = 1s;
constexpr std::chrono::milliseconds kBetweenQuestions = 100ms;

/// What is known of changes if a question has no answer. Over a new link, WAIT would not tell of
/// what the lost one has executed: the operation is executed again.
Durability durability_of(NoAnswer no_answer) {
    return no_answer == NoAnswer::kLinkLost ? Durability::kUndone : Durability::kUnverified;
}

/// What is known of changes if a question is answered with an error. Only an error that denies the
/// command is one of the user's rights. Any other one, such as LOADING after a restart, leaves open
/// what the server has.
Durability durability_of_error(const redis::Value& error) {
    return redis::is_denied(error.text) ? Durability::kForbidden : Durability::kUnverified;
}

/// Reads a reply to ROLE. Nothing if the master has replicas: WAIT tells what they have.
std::optional<Durability> read_replication(const redis::Value& role) {
    constexpr std::size_t kReplicas = 2;
    switch (redis::read_role(role)) {
        case redis::Role::kMaster:
            break;
        case redis::Role::kReplica:
            return Durability::kUndone;
        case redis::Role::kForbidden:
            return Durability::kForbidden;
        default:
            return Durability::kUnverified;
    }
    const bool has_replicas =
        role.elements.size() <= kReplicas || !role.elements[kReplicas].elements.empty();
    return has_replicas ? std::nullopt : std::optional(Durability::kConfirmed);
}

/// Reads a reply to WAIT.
Durability read_confirmation(const redis::Value& reply) {
    switch (reply.kind) {
        case redis::Value::Kind::kInteger:
            return reply.integer > 0 ? Durability::kConfirmed : Durability::kUnconfirmed;
        case redis::Value::Kind::kError:
            return durability_of_error(reply);
        default:
            return Durability::kUnverified;
    }
}

/// Whether a replica of a used server has what was written before.
Task<Durability> confirm_by_replica(AskedDeployment& deployment, std::size_t server) {
    const auto role = co_await deployment.ask_role(server);
    if (const auto* const none = std::get_if<NoAnswer>(&role)) {
        co_return durability_of(*none);
    }
    if (const auto durability = read_replication(std::get<redis::Value>(role))) {
        co_return *durability;
    }
    const auto confirmation = co_await deployment.await_replica(server);
    if (const auto* const none = std::get_if<NoAnswer>(&confirmation)) {
        co_return durability_of(*none);
    }
    co_return read_confirmation(std::get<redis::Value>(confirmation));
}

/// Whether the used servers are still the masters.
Task<Presence> find_presence(Database& database, AskedDeployment& deployment) {
    const auto start = deployment.now();
    const auto electors = deployment.electors();
    if (electors == Electors::kNone || deployment.used_servers() == 0) {
        co_return Presence::kPresent;
    }
    if (electors == Electors::kSentinels && deployment.used_servers() > 1) {
        co_return Presence::kReplaced;
    }
    const auto limit = electors == Electors::kSentinels ? kFailoverTime : kAgreementTime;
    while (true) {
        const bool is_last = deployment.now() - start >= limit;
        const auto presence = co_await deployment.ask_presence(is_last);
        if (presence || is_last) {
            co_return presence.value_or(Presence::kUnknown);
        }
        co_await wait(database, kBetweenQuestions);
    }
}

}  // namespace

Task<Durability> acknowledge_changes(Database& database, AskedDeployment& deployment) {
    auto durability = Durability::kConfirmed;
    for (std::size_t server = 0;
         server < deployment.used_servers() && durability != Durability::kUndone; ++server) {
        const auto confirmed = co_await confirm_by_replica(deployment, server);
        durability = std::max(durability, confirmed);
    }
    // A server that has lost its role need not be asked who has it.
    if (durability == Durability::kUndone) {
        co_return durability;
    }
    const auto presence = co_await find_presence(database, deployment);
    if (presence == Presence::kReplaced) {
        co_return Durability::kUndone;
    }
    co_return presence == Presence::kUnknown ? std::max(durability, Durability::kUnverified)
                                             : durability;
}

Task<Durability> execute_durably(Database& database,
                                 std::function<Task<void>(bool again)> operation) {
    for (int executions = 0; executions < kMostExecutions; ++executions) {
        if (executions > 1) {
            co_await wait(database, kPauseBetweenExecutions);
        }
        std::optional<OperationError> refusal;
        try {
            co_await operation(executions > 0);
        } catch (const OperationError& error) {
            refusal = error;
        }
        const bool is_unavailable = refusal && refusal->reason() == Reason::kUnavailable;
        if (is_unavailable) {
            throw OperationError(*refusal);
        }
        const auto durability = co_await database.acknowledge();
        if (durability != Durability::kUndone) {
            if (refusal) {
                throw OperationError(*refusal);
            }
            co_return durability;
        }
    }
    throw OperationError(Reason::kUnavailable,
                         "the master of Redis changes again and again: it is unknown whether the "
                         "operation is kept");
}

}  // namespace tollgate::management
