#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Reads when a key ends: RFC 3339 (`2027-01-01T00:00:00Z`), a date (its midnight, UTC), or a time
/// from `now` (`90d`). Throws Failure for anything else, and for what is not after `now`.
std::chrono::sys_seconds parse_expiry(std::string_view text, std::chrono::sys_seconds now);

/// Reads a length of time with its unit (`24h`), or `0`. Throws Failure. Parts of a second count as
/// a whole one.
std::chrono::seconds parse_duration_seconds(std::string_view text);

/// Writes a time as RFC 3339 does, in UTC.
std::string format_time(std::chrono::sys_seconds time);

/// Writes a length of time as people do, in its two largest units: `3d 4h`, `26s`.
std::string format_duration(std::chrono::seconds span);

}  // namespace tollgate::cli
