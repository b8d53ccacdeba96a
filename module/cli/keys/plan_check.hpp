#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/key/key_record.hpp"
#include "module/quota/plan.hpp"
#include "module/redis/protocol/keys.hpp"

namespace tollgate::cli {

/// The plan tables that gateways have published under this prefix, by name; none if they have not.
/// Fields that are no table are left out. Throws Failure.
std::vector<PlanTable> read_plan_tables(RedisSession& session, const redis::Keys& keys);

/// What the gateways will not do as the operator expects: a plan that no table names, a plan that
/// is `custom` without limits, limits that no plan uses. None where no table is published.
std::vector<std::string> plan_warnings(const std::vector<PlanTable>& tables,
                                       const KeyRecord& record);

/// A warning if plan tables are published under other prefixes; to be asked where this prefix has
/// none. It looks through 10,000 keys at most. Empty if it finds none. Throws Failure.
std::string prefix_warning(RedisSession& session, std::string_view prefix);

}  // namespace tollgate::cli
