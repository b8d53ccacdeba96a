#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Parses a time: RFC 3339 (`2027-01-01T00:00:00Z`), a date (midnight, UTC), or a duration from
/// `now` (`90d`). Throws Failure with ExitStatus::kUsage.
std::chrono::sys_seconds parse_time(std::string_view text, std::chrono::sys_seconds now);

/// Parses a duration with its unit (`24h`), or `0`. Rounds up to full seconds. Throws Failure with
/// ExitStatus::kUsage.
std::chrono::seconds parse_duration_seconds(std::string_view text);

/// Formats a duration in its two largest units: `3d 4h`, `26s`.
std::string format_duration(std::chrono::seconds duration);

}  // namespace tollgate::cli
