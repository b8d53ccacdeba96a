#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Parses a time of RFC 3339, or a date (midnight, UTC). A fraction of a second is dropped. nullopt
/// for another text.
std::optional<std::chrono::sys_seconds> parse_rfc3339(std::string_view text);

/// Parses the time when a key expires: RFC 3339 (`2027-01-01T00:00:00Z`), a date (midnight, UTC),
/// or a duration from `now` (`90d`). Throws Failure with ExitStatus::kUsage if the text is invalid
/// or the time is not after `now`.
std::chrono::sys_seconds parse_expiry(std::string_view text, std::chrono::sys_seconds now);

/// Parses a duration with its unit (`24h`), or `0`. Rounds up to full seconds. Throws Failure with
/// ExitStatus::kUsage.
std::chrono::seconds parse_duration_seconds(std::string_view text);

/// Formats a time as RFC 3339, in UTC.
std::string format_time(std::chrono::sys_seconds time);

/// Formats a duration in its two largest units: `3d 4h`, `26s`.
std::string format_duration(std::chrono::seconds duration);

}  // namespace tollgate::cli
