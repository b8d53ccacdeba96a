#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Reads a day: `2027-01-31`. Empty if the text is none.
std::optional<std::chrono::sys_days> parse_day(std::string_view text);

/// Writes a day in the form that parse_day reads: `2027-01-31`.
std::string format_day(std::chrono::sys_days day);

/// Writes the members of the JSON object of a history: what `tollgate usage --history --json`
/// prints and tollgate_admin answers.
void write_history(JsonWriter& json, const std::string& id, const UsageHistory& history);

}  // namespace tollgate::management
