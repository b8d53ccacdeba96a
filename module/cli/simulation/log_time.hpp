#pragma once

#include <optional>
#include <string_view>

#include "module/plan/window.hpp"

namespace tollgate::cli {

/// A time in an access log.
struct LogTime {
    Instant at;
    bool is_exact = false;  ///< to the millisecond; otherwise a whole second, rounded down
    bool operator==(const LogTime&) const = default;
};

/// Parses a time as nginx writes it: `$msec` (Unix seconds, with or without a fraction),
/// `$time_iso8601` (also with a fraction of a second) or `$time_local`. nullopt for another text.
std::optional<LogTime> parse_log_time(std::string_view text);

/// Parses a number of seconds with a fraction, as `$request_time`, from zero to ten years. nullopt
/// for another text.
std::optional<std::chrono::milliseconds> parse_log_seconds(std::string_view text);

}  // namespace tollgate::cli
