#pragma once

#include <string>

#include "module/management/database.hpp"
#include "module/management/window_usage.hpp"

namespace tollgate::management {

/// Throws Reason::kUnknownId unless the id has a key, or Redis has its ban, its history or its
/// counts in one of the tables: a subject has no key. The tables must outlive the task. Throws
/// OperationError.
Task<void> require_known_id(Database& database, const redis::Keys& keys, std::string id,
                            CountingTables tables);

}  // namespace tollgate::management
