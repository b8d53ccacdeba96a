#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "module/management/key_changes.hpp"
#include "module/management/operations.hpp"
#include "module/management/window_usage.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// The record of a group: which limits its one counter has in tables with `by=group`.
struct GroupRecord {
    std::string id;  ///< the group: see is_valid_key_id
    std::string plan;
    std::string limits;         ///< for plans that are `custom`; empty: none
    std::string billing_day{};  ///< see KeyRecord::billing_day
};

/// A group as an id whose plan and limits are those of the group: its limits are found as those of
/// an id.
KeyRecord record_of(const GroupRecord& group);

/// Makes a group from a record that has its fields.
GroupRecord group_of(const KeyRecord& record);

/// The record of a group. Throws OperationError with Reason::kUnknownGroup if it has
/// none.
Task<GroupRecord> read_group(Database& database, const redis::Keys& keys, std::string group);

/// The records of these groups, in their order; nothing for one without a record. Throws
/// OperationError.
Task<std::vector<std::optional<GroupRecord>>> records_of_groups(Database& database,
                                                                const redis::Keys& keys,
                                                                std::vector<std::string> groups);

/// Some groups that have a record, in the order of their names. Only the last page may be empty.
struct GroupPage {
    std::vector<GroupRecord> groups;
    std::optional<std::string> next;  ///< where the next page begins, if further ones may follow
};
Task<GroupPage> read_groups(Database& database, const redis::Keys& keys, std::string after,
                            std::size_t limit);

/// Sets values of a group, which needs no record yet: then `changes` have a plan. `check` receives
/// the changed record before it is stored. Gateways apply the change as they do that of a key.
/// Throws OperationError.
Task<Durability> change_group(Caller caller, std::string group, KeyChanges changes,
                              std::function<void(const KeyRecord&)> check);

/// Removes the record of a group. Its ids keep the group. Throws OperationError with
/// Reason::kUnknownGroup if it has none, after it has completed an interrupted removal.
Task<Durability> delete_group(Caller caller, std::string group);

/// Throws OperationError with Reason::kUnknownGroup unless the group has a record, or counts in one
/// of the tables: a group without a record has their default plan. The tables must outlive the
/// task.
Task<void> require_known_group(Database& database, const redis::Keys& keys, std::string group,
                               CountingTables tables);

/// Writes the members of the JSON object of a group.
void write_group(JsonWriter& json, const GroupRecord& group);

}  // namespace tollgate::management
