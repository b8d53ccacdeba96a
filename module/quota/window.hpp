#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "module/quota/rate.hpp"

namespace tollgate {

/// A point in time to the millisecond, of whichever clock the window is counted by.
using Instant = std::chrono::sys_time<std::chrono::milliseconds>;

/// The same to the microsecond, as the Redis command TIME returns it.
using ExactInstant = std::chrono::sys_time<std::chrono::microseconds>;

/// The number of the fixed window that holds `now`: windows of a period are aligned to the Unix
/// epoch, thus to UTC.
constexpr std::int64_t window_number(Instant now, std::chrono::seconds period) {
    return std::chrono::floor<std::chrono::seconds>(now).time_since_epoch() / period;
}

/// When the fixed window of this number ends and the next begins.
constexpr Instant window_end(std::int64_t number, std::chrono::seconds period) {
    return Instant((number + 1) * period);
}

/// What was counted of a window, as the table's hash in Redis has it.
struct WindowCount {
    std::int64_t number = 0;    ///< see window_number; one that is past where nothing was counted
    std::int64_t count = 0;     ///< what was granted in it, in units of cost
    std::int64_t previous = 0;  ///< the same of the window before, where windows slide
    bool operator==(const WindowCount&) const = default;
};

/// The window that counts at `now` after what was counted in this one. One that is still to come
/// stays: its clock went back, at a failover, by a minute or one window at most; what is further
/// off was counted by a clock that was wrong. As the acquire script does it.
WindowCount roll(const WindowCount& window, std::chrono::seconds period, Instant now);

/// Whether the window counts from `earliest` to `latest`: see roll.
bool still_counts(const WindowCount& window, std::chrono::seconds period, Instant earliest,
                  Instant latest);

/// What of the limit is spent at `now`: the window's count and, where it slides, as much of the one
/// before as still overlaps a window that ends now (the two-bucket estimate), rounded up. `window`
/// is the one that counts at `now`: see roll.
std::int64_t spent(const WindowCount& window, std::chrono::seconds period, bool sliding,
                   Instant now);

/// When a sliding window will have room for `need` (at most the limit): in this window, as the one
/// before fades, or in the next.
Instant room_at(const WindowCount& window, const Rate& rate, std::int64_t need);

/// One window of a quota as a request found or left it.
struct WindowState {
    Rate rate;
    std::int64_t remaining;  ///< requests left, never below 0
    Instant reset;  ///< when the window resets; for a sliding one that is exhausted, when it grants
                    ///< again
    bool exhausted = false;     ///< this window refused the request
    std::string_view policy{};  ///< what it is called in `RateLimit`: `free-minute`; a text that
                                ///< lives as long as the quota it belongs to
};

/// The window to show where one must stand for all: of the exhausted ones the last to reset; where
/// none is, the one with the fewest requests left, and among equals the last to reset. nullptr for
/// none.
const WindowState* binding_window(std::span<const WindowState> windows);

/// `Retry-After` (RFC 9110 section 10.2.3): whole seconds from `now` to `until`, rounded up, at
/// least 1.
std::int64_t retry_after(ExactInstant now, Instant until);

/// A Unix time in whole seconds, rounded up.
std::int64_t unix_seconds(Instant instant);

}  // namespace tollgate
