#include "module/plan/window_decision.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "module/plan/window_rest.hpp"

namespace tollgate {

namespace {

/// How many windows the count is ahead of the request; above 0 if the request is late.
std::int64_t windows_ahead(const CountedWindow& window, Instant now) {
    return window.rate.is_bucket() ? 0
                                   : window.count->number - window_number(now, window.rate.period);
}

/// The units that are left for a request at `now`, which may be late.
std::int64_t units_left(const CountedWindow& window, Instant now) {
    const auto& [rate, sliding, count] = window;
    switch (windows_ahead(window, now)) {
        case 0:
            return units_left(*count, rate, sliding, now);
        case 1:
            return rate.requests - count->previous;
        default:
            return std::numeric_limits<std::int64_t>::max();
    }
}

void count_units(const CountedWindow& window, std::int64_t units, Instant now) {
    const Rate& rate = window.rate;
    if (rate.is_bucket()) {
        if (units == 0) {
            return;
        }
        const std::int64_t debt = debt_at(*window.count, rate, now) + debt_of(rate, units);
        const auto time = ExactInstant(now).time_since_epoch().count();
        *window.count = {rate.requests, debt, std::max(window.count->previous, time)};
        return;
    }
    switch (windows_ahead(window, now)) {
        case 0:
            window.count->count += units;
            break;
        case 1:
            window.count->previous += units;
            break;
        default:
            break;
    }
}

ExactInstant grants_at(const CountedWindow& window, std::int64_t cost, Instant now) {
    const auto& [rate, sliding, count] = window;
    return windows_ahead(window, now) == 0
               ? grants_at(*count, rate, sliding, now, cost)
               : window_end(window_number(now, rate.period), rate.period);
}

std::size_t refusing_window(std::span<const CountedWindow> windows, std::int64_t cost,
                            Instant now) {
    std::vector<WindowState> states;
    states.reserve(windows.size());
    for (const CountedWindow& window : windows) {
        const auto left = std::max<std::int64_t>(units_left(window, now), 0);
        states.push_back({.rate = window.rate,
                          .remaining = left,
                          .reset = grants_at(window, cost, now),
                          .exhausted = left < cost});
    }
    return static_cast<std::size_t>(binding_window(states) - states.data());
}

}  // namespace

std::optional<std::size_t> decide_windows(std::span<const CountedWindow> windows, std::int64_t cost,
                                          Instant now) {
    bool is_granted = true;
    for (const CountedWindow& window : windows) {
        if (windows_ahead(window, now) < 0) {
            *window.count = roll(*window.count, window.rate, now);
        }
        // A cost of 0 is granted in any case, as in the script.
        is_granted = is_granted && (cost == 0 || units_left(window, now) >= cost);
    }
    if (!is_granted) {
        return refusing_window(windows, cost, now);
    }
    for (const CountedWindow& window : windows) {
        count_units(window, cost, now);
    }
    return std::nullopt;
}

}  // namespace tollgate
