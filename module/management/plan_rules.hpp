#pragma once

#include <string>
#include <vector>

#include "module/key/key_record.hpp"
#include "module/management/database.hpp"
#include "module/management/key_changes.hpp"
#include "module/plan/plan.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

/// Reads the plan tables in a reply to HGETALL of the hash `plans`, sorted by name. Skips fields
/// that are not a valid table.
std::vector<PlanTable> tables_in(const redis::Value& hash);

/// Reads the plan tables that gateways have published with this prefix. Empty if there are none.
/// Throws OperationError.
Task<std::vector<PlanTable>> read_published_tables(Database& database, const redis::Keys& keys);

/// The tables of this gateway, and those that all gateways have published, if they can be read. A
/// table may be there twice: a gateway that has not reloaded yet may have other plans.
Task<std::vector<PlanTable>> read_known_tables(Database& database, const redis::Keys& keys,
                                               std::vector<const PlanTable*> own);

/// The names in quotes, separated by commas, for a message.
std::string quoted_list(const std::vector<std::string>& names);

/// The names of all plans of the tables, each once, sorted.
std::vector<std::string> plan_names(const std::vector<PlanTable>& tables);

/// Whose record has a plan. Tables with `by=group` apply those of groups, all others those of keys.
enum class PlanOf : bool { kKey, kGroup };

/// The tables that apply such plans.
std::vector<PlanTable> tables_for(const std::vector<PlanTable>& tables, PlanOf owner);

/// Refuses a record that the gateways would not apply: its plan is in no table, or is `custom` in a
/// table and the record has no limits. Does nothing without tables. Throws OperationError with
/// Reason::kInvalid, whose message begins with the name of the value.
void require_usable_plan(const std::vector<PlanTable>& all, const KeyRecord& record,
                         PlanOf owner = PlanOf::kKey);

/// Throws OperationError with Reason::kInvalid if the record's limits contain a month, and its plan
/// is `custom` with sliding windows in one of the tables: the gateways would refuse the key.
void refuse_sliding_month(const std::vector<PlanTable>& tables, const KeyRecord& record,
                          PlanOf owner = PlanOf::kKey);

/// Whether an operator insists on values that the gateways do not apply now.
enum class Forced : bool { kNo, kYes };

/// Checks the plan and the limits of a record if these changes set one of them, before it is
/// stored. Throws as require_usable_plan(), and if limits are set and the plan is `custom` in no
/// table, nor is the default plan of a table without it: they would have no effect. If the operator
/// insists, only refuse_sliding_month() applies.
void check_changed_plan(const std::vector<PlanTable>& tables, const KeyRecord& record,
                        const KeyChanges& changes, Forced forced, PlanOf owner = PlanOf::kKey);

}  // namespace tollgate::management
