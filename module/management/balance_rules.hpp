#pragma once

#include <string>

#include "module/management/database.hpp"
#include "module/plan/plan.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

/// Whether a plan of the table has a balance, or may have one: the limits of a `custom` plan are
/// those of a record.
bool may_have_balance(const PlanTable& table);

/// Throws OperationError with Reason::kHasBalance if a balance of the id by itself was ever
/// credited and the id is not in this group: the counters of an id in another group are others, so
/// what is left, what is owed and which references were credited would be lost. `id` may have been
/// revoked.
Task<void> require_balance_stays(Database& database, const redis::Keys& keys, std::string id,
                                 std::string group);

}  // namespace tollgate::management
