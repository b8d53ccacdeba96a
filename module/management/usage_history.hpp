#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/key_usage.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// What an id was granted in one UTC day in one plan table.
struct DayUsage {
    std::chrono::sys_days day;
    std::string table;
    std::int64_t units = 0;
};

/// The days of one id, ordered by day and table. The last one may not have ended; its units include
/// those that nodes have leased.
using UsageHistory = std::vector<DayUsage>;

/// Reads the history of an id. It has no days if no table keeps a history of the id, and if the id
/// does not exist; that of a revoked id remains. Tables that are not in `tables` may lack their
/// last day. The tables must outlive the task. Throws OperationError.
Task<UsageHistory> read_history(Database& database, const redis::Keys& keys, std::string id,
                                CountingTables tables);

/// Reads a day: `2027-01-31`. Empty if the text is none.
std::optional<std::chrono::sys_days> parse_day(std::string_view text);

/// Writes a day in the form that parse_day reads: `2027-01-31`.
std::string format_day(std::chrono::sys_days day);

/// Writes the members of the JSON object of a history: what `tollgate usage --history --json`
/// prints and tollgate_admin answers.
void write_history(JsonWriter& json, const std::string& id, const UsageHistory& history);

}  // namespace tollgate::management
