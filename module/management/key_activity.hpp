#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/stored_key.hpp"
#include "module/management/usage_history.hpp"
#include "module/plan/plan.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// What Redis counts of an id now, for lists of keys.
struct KeyActivity {
    std::optional<std::chrono::sys_seconds> banned_until{};  ///< empty: not banned
    std::int64_t strikes = 0;                                ///< towards the next ban
    /// What was counted in this UTC day, in tables by id that count days: with a limit for a day,
    /// or a history. Includes units that nodes have leased.
    UsageHistory today{};
};

/// Reads the activity of ids, in their order: two small hashes of an id, and one for each further
/// table. The tables must outlive the task. Throws OperationError.
Task<std::vector<KeyActivity>> read_activities(Database& database, const redis::Keys& keys,
                                               const std::vector<KeysOfId>& ids,
                                               std::vector<const PlanTable*> tables);

/// Writes the member `activity` of a key.
void write_activity(JsonWriter& json, const KeyActivity& activity);

}  // namespace tollgate::management
