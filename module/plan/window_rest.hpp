#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "module/plan/bucket.hpp"
#include "module/plan/window.hpp"

// What a count leaves of a window or a bucket, and when there is more. The count is the current
// one: see roll. Whoever shows or decides what is left asks here, with the counts that it knows.
namespace tollgate {

/// The units that are left at `now`; below 0 if more was counted than the limit. `sliding` says
/// whether windows slide, which buckets and months do not.
inline std::int64_t units_left(const WindowCount& count, const Rate& rate, bool sliding,
                               Instant now) {
    return rate.is_bucket() ? tokens_left(rate, debt_at(count, rate, now))
                            : rate.requests - spent(count, rate.period, sliding, now);
}

/// When a bucket has so many tokens, `now` or later: see granted_at.
inline ExactInstant refilled_at(const WindowCount& bucket, const Rate& rate, Instant now,
                                std::int64_t tokens) {
    const ExactInstant time(std::chrono::microseconds(bucket.previous));
    return granted_at(rate, debt_at(bucket, rate, now), std::max<ExactInstant>(now, time), tokens);
}

/// When a window or bucket that has less than `cost` left has it again, and at least one unit: a
/// fixed window when it ends, a sliding one (`cost` at most its limit) as its counts fade.
inline ExactInstant grants_at(const WindowCount& count, const Rate& rate, bool sliding, Instant now,
                              std::int64_t cost) {
    const auto need = std::max<std::int64_t>(cost, 1);
    if (rate.is_bucket()) {
        return refilled_at(count, rate, now, need);
    }
    return sliding ? room_at(count, rate, need) : window_end(count.number, rate.period);
}

/// When a window ends, or a bucket is full.
inline ExactInstant renewed_at(const WindowCount& count, const Rate& rate, Instant now) {
    return rate.is_bucket() ? refilled_at(count, rate, now, rate.burst)
                            : window_end(count.number, rate.period);
}

/// What is shown of a window or bucket.
struct WindowRest {
    std::int64_t remaining;  ///< units left, never below 0
    ExactInstant reset;      ///< renewed_at; if nothing is left, grants_at for the cost
};

/// What is left for further requests of this cost.
inline WindowRest rest_of(const WindowCount& count, const Rate& rate, bool sliding, Instant now,
                          std::int64_t cost) {
    const auto left = std::max<std::int64_t>(units_left(count, rate, sliding, now), 0);
    return {.remaining = left,
            .reset = left == 0 ? grants_at(count, rate, sliding, now, cost)
                               : renewed_at(count, rate, now)};
}

}  // namespace tollgate
