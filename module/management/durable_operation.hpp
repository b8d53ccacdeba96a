#pragma once

#include <functional>
#include <string>

#include "module/management/durability.hpp"
#include "module/management/key_operation.hpp"

namespace tollgate::management {

/// Stores the key with this digest: KeyOperation::create() or rotate().
using MakeKey = std::function<Task<KeysOfId>(std::string digest)>;

// `database` and `operation` must outlive the tasks. All throw as execute_durably() of a Database.

/// Executes a part of an operation, again if a failover may have undone it.
Task<Durability> execute_durably(Database& database, KeyOperation& operation,
                                 std::function<Task<void>()> part);

/// Makes a key, which is unfinished until confirm_durably(): `new_digest` returns the digest for
/// each execution, and a later one replaces the key of an earlier one.
Task<KeysOfId> make_durably(Database& database, KeyOperation& operation, MakeKey make,
                            std::function<std::string()> new_digest);

/// Confirms that the new key is shown. If a failover has undone the key, stores it again.
Task<Durability> confirm_durably(Database& database, KeyOperation& operation, std::string digest,
                                 std::string id, MakeKey make);

}  // namespace tollgate::management
