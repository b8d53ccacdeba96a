#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/key/key_record.hpp"
#include "module/quota/plan.hpp"

namespace tollgate::cli {

/// Warnings about a record that the gateways do not apply as written: a plan that no table has, a
/// `custom` plan without limits, limits without a `custom` plan. Empty if `tables` is empty.
std::vector<std::string> plan_warnings(const std::vector<PlanTable>& tables,
                                       const KeyRecord& record);

/// A warning that plan tables are published with other prefixes. Call it only if `prefix` has none.
/// Scans about 10,000 keys of Redis. Empty if it finds no other prefix. Throws Failure.
std::string prefix_warning(RedisSession& session, std::string_view prefix);

}  // namespace tollgate::cli
