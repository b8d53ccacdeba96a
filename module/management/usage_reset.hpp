#pragma once

#include <string>
#include <vector>

#include "module/management/audit.hpp"
#include "module/management/database.hpp"
#include "module/management/window_usage.hpp"
#include "module/plan/value_digest.hpp"

namespace tollgate::management {

/// Whose counts are reset. Those of a group are in the tables with `by=group`.
enum class UsageOf : bool { kId, kGroup };

/// An id, or the name of a group.
struct UsageOwner {
    std::string id;
    UsageOf of = UsageOf::kId;
};

/// Which counter of a table is that of an id, or of a group.
ValueDigest value_of(UsageOf of);

/// The name of the change of an id or a group in `events` and `changes`.
std::string change_of(const UsageOwner& owner);

/// Asks nodes to return the leases of these ids and groups, and waits 300 ms for them. The next
/// requests for an id may lease again. Throws OperationError.
Task<void> recall_leases(Database& database, const redis::Keys& keys,
                         std::vector<UsageOwner> owners);

/// Removes the counts of an id or a group, which the entry names, in these tables, so that its
/// windows begin with their whole limits. Balances remain. Recall the leases before.
/// The last day of a table with a history moves to the history of the id: what was granted remains.
/// Nodes are told that the id or the record of the group has changed. A lease that is not returned
/// yet can still be used: it is not counted in the new windows, and what is left of it reduces
/// their counts when it is returned. What nodes have counted while Redis was unreachable, and
/// places of requests in flight, remain. The tables must outlive the task. Throws OperationError.
Task<void> reset_usage(Database& database, const redis::Keys& keys, AuditEntry entry,
                       CountingTables tables, UsageOf of = UsageOf::kId);

}  // namespace tollgate::management
