#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tollgate {

/// Parses a time of RFC 3339 (`2027-01-01T00:00:00Z`), or a date: midnight, UTC. A fraction of a
/// second is ignored. Empty if the text is neither, or if the time in UTC is not in the years 0000
/// to 9999.
std::optional<std::chrono::sys_seconds> parse_rfc3339(std::string_view text);

/// Formats a time as RFC 3339, in UTC.
std::string format_time(std::chrono::sys_seconds time);

}  // namespace tollgate
