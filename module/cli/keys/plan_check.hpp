#pragma once

#include <optional>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/key/key_record.hpp"
#include "module/quota/plan.hpp"

namespace tollgate::cli {

/// The plan tables that gateways have published with the prefix of the session. Throws Failure.
std::vector<PlanTable> read_tables(RedisSession& session);

/// The same, to check the plan of a key. If they cannot be read, warns and returns nothing: the
/// user may not be permitted to.
std::optional<std::vector<PlanTable>> tables_to_check(RedisSession& session);

/// Warns about a record that the gateways do not apply as written: a plan that no table has, a
/// `custom` plan without limits, limits without a `custom` plan. Does nothing without tables.
void warn_about(const std::vector<PlanTable>& tables, const KeyRecord& record);

}  // namespace tollgate::cli
