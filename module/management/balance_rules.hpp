#pragma once

#include <string>

#include "module/management/database.hpp"
#include "module/plan/plan.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

/// Whether a plan of the table has a balance, or may have one: the limits of a `custom` plan are
/// those of a record.
bool may_have_balance(const PlanTable& table);

/// Throws OperationError with Reason::kHasBalance if units are left of a balance of the id by
/// itself and it is not in this group: the counters of an id in another group are others.
Task<void> require_no_balance_in_other_group(Database& database, const redis::Keys& keys,
                                             std::string id, std::string group);

}  // namespace tollgate::management
