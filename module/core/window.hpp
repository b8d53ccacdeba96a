#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "module/core/rate.hpp"

namespace tollgate {

/// A point in time to the millisecond, of whichever clock the window is counted by.
using Instant = std::chrono::sys_time<std::chrono::milliseconds>;

/// The number of the fixed window that holds `now`: windows of a period are aligned to the Unix
/// epoch, thus to UTC.
constexpr std::int64_t window_number(Instant now, std::chrono::seconds period) {
    return std::chrono::floor<std::chrono::seconds>(now).time_since_epoch() / period;
}

/// When the fixed window of this number ends and the next begins.
constexpr Instant window_end(std::int64_t number, std::chrono::seconds period) {
    return Instant((number + 1) * period);
}

/// One window of a quota as a request found or left it.
struct WindowState {
    Rate rate;
    std::int64_t remaining;  ///< requests left, never below 0
    Instant reset;  ///< when the window resets; for a sliding one that is exhausted, when it grants
                    ///< again
    bool exhausted = false;  ///< this window refused the request
    std::string
        policy{};  ///< what the window is called in `RateLimit`: `free-minute`; empty until named
};

/// The window to show where one must stand for all: of the exhausted ones the last to reset; where
/// none is, the one with the fewest requests left, and among equals the last to reset. nullptr for
/// none.
const WindowState* binding_window(std::span<const WindowState> windows);

/// `Retry-After` (RFC 9110 section 10.2.3): whole seconds from `now` to `until`, rounded up, at
/// least 1.
std::int64_t retry_after(Instant now, Instant until);

/// A Unix time in whole seconds, rounded up.
std::int64_t unix_seconds(Instant instant);

}  // namespace tollgate
