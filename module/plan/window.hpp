#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/plan/rate.hpp"
#include "module/process/spare_memory.hpp"
#include "module/process/time.hpp"

namespace tollgate {

/// The latest time that is read from Redis: the end of the year 9999. Counts in Redis have the same
/// maximum, as a number. No arithmetic with them overflows.
inline constexpr Instant kLatestInstant(std::chrono::milliseconds(253'402'300'799'999));

/// The number of the month that contains `now`: that of the day on which it begins.
std::int64_t month_number(Instant now, Period month);

/// The number of the month after the one of this number, which may have begun by another billing
/// day.
std::int64_t next_month_number(std::int64_t number, Period month);

/// The number of the only window of a balance. A balance that Redis has not counted has the number
/// 0, as windows have a past number then: no unit is left.
inline constexpr std::int64_t kBalanceWindow = 1;

/// The number of the fixed window that contains `now`. Windows are aligned to the Unix epoch, so
/// also to UTC. A month has the number of its first day, so that its number remains if the billing
/// day is changed.
constexpr std::int64_t window_number(Instant now, Period period) {
    if (period.is_balance()) {
        return kBalanceWindow;
    }
    if (period.is_month()) {
        return month_number(now, period);
    }
    return std::chrono::floor<std::chrono::seconds>(now).time_since_epoch() / period.length();
}

/// The number of the fixed window that follows the one of this number.
constexpr std::int64_t next_window_number(std::int64_t number, Period period) {
    return period.is_month() ? next_month_number(number, period) : number + 1;
}

/// When the fixed window of this number begins. A balance begins with the Unix epoch.
constexpr Instant window_start(std::int64_t number, Period period) {
    if (period.is_balance()) {
        return number <= kBalanceWindow ? Instant() : kLatestInstant;
    }
    return period.is_month() ? Instant(std::chrono::days(number))
                             : Instant(number * period.length());
}

/// When the fixed window of this number ends and the next begins. A balance ends at kLatestInstant.
constexpr Instant window_end(std::int64_t number, Period period) {
    return window_start(next_window_number(number, period), period);
}

/// How long the fixed window is that ends then.
inline std::chrono::seconds window_length(ExactInstant end, Period period) {
    const auto last =
        std::chrono::floor<std::chrono::milliseconds>(end - ExactInstant::duration(1));
    return period.is_month() ? std::chrono::floor<std::chrono::seconds>(
                                   end - window_start(window_number(last, period), period))
                             : period.length();
}

/// The counts of a window, as the table's hash in Redis stores them. For a bucket, see bucket.hpp.
struct WindowCount {
    std::int64_t number = 0;    ///< see window_number; a past one if nothing was counted
    std::int64_t count = 0;     ///< units granted in it
    std::int64_t previous = 0;  ///< units granted in the window before, if windows slide
    bool operator==(const WindowCount&) const = default;
};

/// The counts of all windows of a quota.
using WindowCounts = std::vector<WindowCount, SpareAllocator<WindowCount, kMaxWindows>>;

/// A window with a later number than the current one is kept if it begins within this time, or has
/// begun before the billing day was changed. The next one is kept in any case.
constexpr std::chrono::seconds kMostAhead{60};

/// The window that is current at `now`, given the last counted one, of a period that ends. One in
/// the future is kept, see kMostAhead: Redis's clock went back, at a failover. One that is further
/// in the future was counted by a wrong clock and is dropped. The acquire script does the same.
WindowCount roll(const WindowCount& window, Period period, Instant now);

/// A time of a bucket, in us as WindowCount::previous has it, at `now`: one that is more than
/// kMostAhead in the future is that of a wrong clock. The bucket then refills from `now` on.
constexpr std::int64_t bucket_time(std::int64_t time, Instant now) {
    const ExactInstant most = now + kMostAhead;
    return time > most.time_since_epoch().count() ? ExactInstant(now).time_since_epoch().count()
                                                  : time;
}

/// Returns the window that is current at `now`, given the last counted one: see roll() with a
/// Period. A bucket never ends; another rate makes it another one with the same debt. See
/// bucket_time. Nothing is left of a balance that Redis has not counted.
inline WindowCount roll(const WindowCount& window, const Rate& rate, Instant now) {
    if (rate.is_balance()) {
        return window.number == kBalanceWindow ? window
                                               : WindowCount{kBalanceWindow, rate.requests, 0};
    }
    return rate.is_bucket()
               ? WindowCount{rate.requests, window.count, bucket_time(window.previous, now)}
               : roll(window, rate.period, now);
}

/// Whether roll() leaves the window as it is at each time from `earliest` to `latest`.
[[gnu::noinline]] bool is_kept(const WindowCount& window, Period period, Instant earliest,
                               Instant latest);

/// Whether roll() leaves the window as it is at each time from `earliest` to `latest`. The common
/// case needs no divisions, unless it is a month.
inline bool still_counts(const WindowCount& window, Period period, Instant earliest,
                         Instant latest) {
    return (window_start(window.number, period) <= earliest &&
            latest < window_end(window.number, period)) ||
           is_kept(window, period, earliest, latest);
}

/// Whether roll() leaves the window or bucket as it is at each time from `earliest` to `latest`.
inline bool still_counts(const WindowCount& window, const Rate& rate, Instant earliest,
                         Instant latest) {
    return rate.is_bucket() ? window.number == rate.requests &&
                                  bucket_time(window.previous, earliest) == window.previous
                            : still_counts(window, rate.period, earliest, latest);
}

/// The units that are spent at `now` in a sliding window: its count and the part of the previous
/// window's count that still overlaps a window ending now (the two-bucket estimate), rounded up.
/// `window` is the current one: see roll. A month does not slide.
std::int64_t spent_sliding(const WindowCount& window, Period period, Instant now);

/// The units that are spent at `now`: if windows do not slide, the window's count.
inline std::int64_t spent(const WindowCount& window, Period period, bool sliding, Instant now) {
    return sliding ? spent_sliding(window, period, now) : window.count;
}

/// When a sliding window has room for `need` units (at most the limit): in this window, as the
/// previous count fades, or in the next. A month does not slide.
Instant room_at(const WindowCount& window, const Rate& rate, std::int64_t need);

/// One window or bucket of a quota, before or after a request.
struct WindowState {
    Rate rate;
    std::int64_t remaining;  ///< units left, never below 0
    ExactInstant reset;      ///< when the window resets, or the bucket is full; if it slides or is
                             ///< a bucket, and is exhausted: when it grants again
    bool exhausted = false;  ///< this window refused the request
    std::string_view table{};   ///< the name of its plan table; lives as long as its quota
    std::string_view policy{};  ///< its name in `RateLimit`: `free-minute`; lives as long as its
                                ///< quota
    std::string_view unit = kRequests;  ///< see PlanTable::unit; lives as long as its quota
    Instant retry{};  ///< if exhausted: units in leases or slices may be back then; 0:
                      ///< none are known, or not before the reset
    std::optional<std::int64_t>
        over{};  ///< with `over=allow`: the units beyond the limit; else empty

    /// Sets what is left, which is below 0 beyond the limit.
    void set_rest(std::int64_t rest) {
        remaining = std::max<std::int64_t>(rest, 0);
        if (over) {
            over = remaining - rest;
        }
    }
    /// What is left; below 0 beyond a soft limit.
    std::int64_t rest() const { return remaining - over.value_or(0); }
};

/// Whether two windows have the same unit. Those of one quota refer to the same text.
inline bool have_same_unit(const WindowState& a, const WindowState& b) {
    return a.unit.data() == b.unit.data() || a.unit == b.unit;
}

/// The windows that a response shows.
using WindowStates = std::vector<WindowState, SpareAllocator<WindowState, kMaxRates>>;

/// The window to show if only one can be shown: the exhausted window that resets last. If none is
/// exhausted, the one with the fewest units left, and among equals the one that resets last.
/// nullptr if there are no windows.
const WindowState* binding_window(std::span<const WindowState> windows);
/// The window to show if only one can be shown of those that have the unit of `like`, which is one
/// of the windows.
const WindowState* binding_window(std::span<const WindowState> windows, const WindowState& like);

/// Whether a window was granted beyond its soft limit.
bool is_over(std::span<const WindowState> windows);

/// The windows that were granted beyond their soft limits: `api:pro-day, tokens:pro-day`; empty for
/// none. Throws std::bad_alloc.
std::string exceeded(std::span<const WindowState> windows);

/// The exhausted balance among these windows; nullptr if there is none.
const WindowState* exhausted_balance(std::span<const WindowState> windows);

/// When a refused request may be granted: when each exhausted window has reset, or has units from
/// leases. 0 if there are no windows.
ExactInstant retry_at(std::span<const WindowState> windows);

/// `Retry-After` (RFC 9110 section 10.2.3): whole seconds from `now` to `until`, rounded up, at
/// least 1.
std::int64_t retry_after(ExactInstant now, ExactInstant until);

/// A Unix time in whole seconds, rounded up.
std::int64_t unix_seconds(ExactInstant instant);

}  // namespace tollgate
