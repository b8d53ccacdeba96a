#pragma once

#include <hiredis/hiredis.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "module/plan/window.hpp"

namespace tollgate::redis {

/// The time in a reply of the command TIME: the seconds and the microseconds of that second, as two
/// strings. Nothing if they are malformed, or later than kLatestInstant.
std::optional<ExactInstant> read_time(std::span<const redisReply* const> values);

/// Reads the time from the two strings in a reply of the command TIME: the seconds and the
/// microseconds of that second. Nothing if they are malformed, or later than kLatestInstant.
std::optional<ExactInstant> read_time(std::string_view seconds, std::string_view microseconds);

/// Parses a Unix time in seconds that Redis stores as text. Nothing if the text is no time from
/// 1970 to kLatestInstant.
std::optional<std::chrono::sys_seconds> parse_unix_time(std::string_view text);

/// Writes a time as parse_unix_time() reads it.
std::string unix_time(std::chrono::sys_seconds time);

}  // namespace tollgate::redis
