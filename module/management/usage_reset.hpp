#pragma once

#include "module/management/audit.hpp"
#include "module/management/database.hpp"
#include "module/management/key_usage.hpp"

namespace tollgate::management {

/// Whose counts are reset. Those of a group are in the tables with `by=group`.
enum class UsageOf : bool { kId, kGroup };

/// Removes the counts of an id or a group, which the entry names, in these tables, so that its
/// windows begin with their whole limits.
/// The last day of a table with a history moves to the history of the id: what was granted remains.
/// Nodes are asked to return the leases before, and are told that the id or the record of the group
/// has changed. A lease that is not returned within 300 ms can still be used: it is not counted in
/// the new windows, and what is left of it reduces their counts when it is returned. What nodes
/// have counted while Redis was unreachable, and places of requests in flight, remain. The tables
/// must outlive the task. Throws OperationError.
Task<void> reset_usage(Database& database, const redis::Keys& keys, AuditEntry entry,
                       CountingTables tables, UsageOf of = UsageOf::kId);

}  // namespace tollgate::management
