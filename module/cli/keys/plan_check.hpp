#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/key/key_record.hpp"
#include "module/management/plan_rules.hpp"
#include "module/plan/plan.hpp"

namespace tollgate::cli {

/// The plan tables that gateways have published with the prefix of the session. Throws Failure.
std::vector<PlanTable> read_tables(RedisSession& session);

/// The plan tables that gateways have published, to find the counts of an `owner`: an id or a
/// group. Throws Failure if there are no tables.
std::vector<PlanTable> require_tables(RedisSession& session, const std::string& owner);

/// The message that no gateway has published its plan tables, followed by the consequence.
std::string without_tables(const RedisSession& session, std::string_view consequence);

/// The plan tables that gateways have published, to check the plan of a key. If they cannot be
/// read, warns and returns nothing: the user may not be permitted to read them.
std::optional<std::vector<PlanTable>> tables_to_check(RedisSession& session);

/// What the gateways do not apply of a record as it is written: a plan that no table has, a
/// `custom` plan without limits, limits without a `custom` plan. Nothing without tables.
std::vector<std::string> plan_problems(const std::vector<PlanTable>& all, const KeyRecord& record,
                                       management::PlanOf of = management::PlanOf::kKey);

/// Warns about each of these problems.
void warn_about(const std::vector<PlanTable>& tables, const KeyRecord& record,
                management::PlanOf owner = management::PlanOf::kKey);

/// Warns of the group of a key, or of keys, that has no record, if a table then refuses requests of
/// the group. Groups may be empty.
void warn_about_groups(RedisSession& session, const std::vector<PlanTable>& tables,
                       std::vector<std::string> groups);

}  // namespace tollgate::cli
