#pragma once

#include <cstdint>
#include <functional>

#include "module/management/task.hpp"

namespace tollgate::management {

class Database;

/// Whether changes survive a failover: the worst case is last.
enum class Durability : std::uint8_t {
    kConfirmed,    ///< the present masters have them; so does a replica of each one with replicas
    kUnconfirmed,  ///< the present masters have them, and no replica confirmed them in time
    kUnverified,   ///< it is not known whether the present masters have them, and a replica
    kForbidden,    ///< the user may not ask for replicas
    kUndone        ///< another server is the master: it may not have them
};

/// Executes an operation and determines the durability of its changes. If another server has become
/// the master meanwhile, executes the operation there again, also if it was refused: the refusal is
/// then that of a server which is no master. `again` says whether this is a repetition. Never
/// returns Durability::kUndone. Throws what the operation throws, and OperationError with
/// Reason::kUnavailable if the master changes again and again.
Task<Durability> execute_durably(Database& database,
                                 std::function<Task<void>(bool again)> operation);

}  // namespace tollgate::management
