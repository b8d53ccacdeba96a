#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

#include "module/management/database.hpp"
#include "module/redis/protocol/value.hpp"
#include "module/redis/topology/presence.hpp"

namespace tollgate::management {

/// Who knows which servers of a Redis deployment are masters.
enum class Electors : std::uint8_t {
    kNone,       ///< nobody is asked: one server is always the master
    kSentinels,  ///< Sentinels, which monitor one master
    kMasters     ///< the masters of a cluster, of which each serves a part of the keys
};

/// Why a server has not answered a question.
enum class NoAnswer : std::uint8_t {
    kSilent,   ///< not in time, over a link of its own: it may have lost its role, or be busy
    kLinkLost  ///< the link over which it executed the changes has ended: it may have lost its role
};

/// The reply of a server, which may be an error.
using Answer = std::variant<redis::Value, NoAnswer>;

/// The servers that have executed the calls of some operations, and the deployment they belong to,
/// as acknowledge_changes() asks them. The questions are asked one after the other.
class AskedDeployment {
  public:
    AskedDeployment() = default;
    AskedDeployment(const AskedDeployment&) = delete;
    AskedDeployment& operator=(const AskedDeployment&) = delete;
    virtual ~AskedDeployment() = default;

    /// The number of servers that have executed calls. A server has an index below it.
    virtual std::size_t used_servers() const = 0;
    /// Sends ROLE to a used server.
    virtual Task<Answer> ask_role(std::size_t server) = 0;
    /// Sends WAIT for one replica and kReplicaTimeout to a used server, so that it waits for all
    /// that the server has executed in these calls. An error of what precedes WAIT is the answer.
    virtual Task<Answer> await_replica(std::size_t server) = 0;
    /// Who is asked for the masters, from now on.
    virtual Electors electors() = 0;
    /// Asks the electors once whether the used servers are still the masters. Nothing: they do not
    /// agree yet, ask again. `is_last` says that nobody asks again.
    virtual Task<std::optional<redis::Presence>> ask_presence(bool is_last) = 0;
    /// The present time of the clock that limits how long electors are asked.
    virtual std::chrono::steady_clock::time_point now() const {
        return std::chrono::steady_clock::now();
    }
};

/// How long WAIT waits for a replica.
inline constexpr std::chrono::milliseconds kReplicaTimeout{1000};

/// Determines whether a replica of each used server has what was written before, and whether these
/// servers are still the masters: see Database::acknowledge(). `database` is for pauses. Both
/// arguments must outlive the task. Throws what the functions of the arguments throw.
Task<Durability> acknowledge_changes(Database& database, AskedDeployment& deployment);

/// Executes an operation and determines the durability of its changes. If another server has become
/// the master meanwhile, executes the operation there again, also if it was refused: the refusal is
/// then that of a server which is no master. `again` says whether this is a repetition. Never
/// returns Durability::kUndone. Throws what the operation throws, and OperationError with
/// Reason::kUnavailable if the master changes again and again.
Task<Durability> execute_durably(Database& database,
                                 std::function<Task<void>(bool again)> operation);

}  // namespace tollgate::management
