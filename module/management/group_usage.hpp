#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "module/management/groups.hpp"
#include "module/management/window_usage.hpp"

namespace tollgate::management {

/// The usage of a group in all tables with `by=group`.
struct GroupUsage {
    GroupRecord group;             ///< without a plan if it has no record
    std::chrono::sys_seconds now;  ///< by Redis's clock
    std::vector<WindowUsage> windows{};
};

/// Reads the usage of a group by table and period. The windows of its plan without a count are
/// included. The tables must outlive the task. Throws OperationError with Reason::kUnknownGroup if
/// the group has neither a record nor counts.
Task<GroupUsage> read_group_usage(Database& database, const redis::Keys& keys, std::string group,
                                  std::vector<const PlanTable*> tables);

/// Reads the counts of a group that need not be known: without a record, it has the default plan of
/// each table. The tables must outlive the task. Throws OperationError.
Task<GroupUsage> read_counts_of_group(Database& database, const redis::Keys& keys,
                                      std::string group, std::vector<const PlanTable*> tables);

/// Writes the members of the JSON object of the usage of a group.
void write_group_usage(JsonWriter& json, const GroupUsage& usage);

}  // namespace tollgate::management
