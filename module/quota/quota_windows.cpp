#include "module/quota/quota_windows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "module/plan/bucket.hpp"
#include "module/quota/redis_clock.hpp"

namespace tollgate {

namespace {

bool is_longest(const TableQuota& quota, std::size_t window) {
    return window + 1 == quota.rates.size();
}

/// What is left of this node's units if Redis counts fewer units than before, `now` instead of
/// `before`. If Redis has lost counts, the units of all nodes are lost in the same proportion:
/// together, the nodes must not have more than Redis counts. Other nodes' returns of leases are not
/// told apart; they make the node's share a little smaller.
std::int64_t own_after(std::int64_t own, std::int64_t before, std::int64_t now) {
    if (now >= before || before <= 0) {
        return own;
    }
    const double part = static_cast<double>(now) / static_cast<double>(before);
    return static_cast<std::int64_t>(part * static_cast<double>(std::min(own, before)));
}

void merge_owed(QuotaState& state, const TableQuota& quota, std::size_t window, Units& owed,
                std::int64_t units) {
    if (is_longest(quota, window)) {
        const std::int64_t met = std::max<std::int64_t>(std::min<std::int64_t>(owed, -units),
                                                        std::min<std::int64_t>(-owed, units));
        if (met > 0) {
            state.counts.settled += met;
            state.counts.returned += met;
        }
    }
    owed += units;
}

}  // namespace

bool are_current(const QuotaState& state, const TableQuota& quota, const ClockBounds& now) {
    if (state.counted_at == Instant{}) {
        return false;
    }
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        if (!still_counts(state.windows[i].counted, quota.rates[i], now.earliest, now.latest)) {
            return false;
        }
    }
    return true;
}

bool knows_change(const QuotaState& state, const Demand& demand, const ClockBounds& now) {
    if (demand.changed == SteadyTime{}) {
        return true;
    }
    const SteadyTime age = now.steady - demand.changed;
    const SteadyTime drift = std::chrono::ceil<SteadyTime>(RedisClock::drift_within(age));
    return state.counted_at > now.latest - age + drift;
}

void add_reported(const QuotaState& state, std::size_t window, WindowCount& granted) {
    const Adjustment& sent = state.report->adjustments[window];
    const std::int64_t number = state.windows[window].counted.number;
    const std::int64_t units = std::max<std::int64_t>(sent.units, 0);
    if (sent.number == number) {
        granted.count += units;
        granted.previous += std::max<std::int64_t>(sent.previous, 0);
    } else if (sent.number == number - 1) {
        granted.previous += units;
    }
}

std::int64_t share_of(const QuotaState& state, const TableQuota& quota, std::int64_t units) {
    return static_cast<std::int64_t>(std::ceil(
        share_part(state, quota) * static_cast<double>(std::max<std::int64_t>(units, 0))));
}

std::int64_t left_of_share(const QuotaState& state, const TableQuota& quota, std::size_t window,
                           const WindowCount& granted, Instant now) {
    const Rate& rate = quota.rates[window];
    const WindowCount& counted = state.windows[window].counted;
    const std::int64_t share =
        share_of(state, quota, units_left(counted, rate, quota.sliding, now));
    return share - (granted.count - counted.count);
}

bool is_exhausted(const QuotaState& state, const TableQuota& quota, std::int64_t cost,
                  Instant now) {
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        if (left(state, quota, i, now) < cost) {
            return true;
        }
    }
    return false;
}

bool owes(const QuotaState& state) {
    return std::ranges::any_of(state.windows, [](const QuotaState::Window& window) {
        return window.owed != 0 || window.owed_previous != 0;
    });
}

void note_own(QuotaState& state, const TableQuota& quota, std::int64_t number, std::int64_t units) {
    if (state.windows[quota.rates.size() - 1].counted.number == number) {
        state.own = std::max<std::int64_t>(state.own + units, 0);
    }
}

void add_owed(QuotaState& state, const TableQuota& quota, std::size_t window, std::int64_t units) {
    if (quota.rates[window].is_bucket()) {
        owe_debt(state, window, debt_of(quota.rates[window], units));
        return;
    }
    merge_owed(state, quota, window, state.windows[window].owed, units);
}

void add_owed_previous(QuotaState& state, const TableQuota& quota, std::size_t window,
                       std::int64_t units) {
    merge_owed(state, quota, window, state.windows[window].owed_previous, units);
}

void owe_to_windows(QuotaState& state, const TableQuota& quota,
                    std::span<const WindowCount> windows, std::int64_t units) {
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        if (state.windows[i].counted.number == windows[i].number || quota.rates[i].is_bucket()) {
            add_owed(state, quota, i, units);
        } else if (keeps_history(quota, i) ||
                   (quota.sliding && state.windows[i].counted.number == windows[i].number + 1)) {
            add_owed_previous(state, quota, i, units);
        } else if (is_longest(quota, i)) {
            count_dropped(state.counts, units);
        }
    }
}

void set_window(QuotaState& state, const TableQuota& quota, std::size_t window,
                const WindowCount& count) {
    auto& [counted, owed, owed_previous] = state.windows[window];
    if (quota.rates[window].is_bucket()) {
        counted = count;
        return;
    }
    std::int64_t dropped = 0;
    std::int64_t dropped_previous = 0;
    if (keeps_history(quota, window)) {
        // Nothing is dropped. If several days have passed, the units count for the last of them. If
        // the clock went back, they count for the present day.
        if (count.number > counted.number) {
            add_owed_previous(state, quota, window, std::exchange(owed, 0));
        }
    } else if (quota.sliding && count.number == counted.number + 1) {
        dropped_previous = std::exchange(owed_previous, std::exchange(owed, Units()));
    } else if (count.number != counted.number) {
        dropped = std::exchange(owed, 0);
        dropped_previous = std::exchange(owed_previous, 0);
    }
    if (is_longest(quota, window)) {
        count_dropped(state.counts, dropped);
        count_dropped(state.counts, dropped_previous);
        state.own =
            count.number == counted.number ? own_after(state.own, counted.count, count.count) : 0;
    }
    counted = count;
}

void restore_windows(QuotaState& state, const TableQuota& quota,
                     std::span<const WindowCount> windows) {
    for (std::size_t i = 0; i < quota.rates.size() && state.counted_at == Instant{}; ++i) {
        if (state.windows[i].counted.number < windows[i].number) {
            set_window(state, quota, i, windows[i]);
        }
    }
}

void count_settled(UnitCounts& counts, std::int64_t units) {
    (units > 0 ? counts.settled : counts.returned) += units > 0 ? units : -units;
}

void count_dropped(UnitCounts& counts, std::int64_t units) {
    (units > 0 ? counts.lapsed : counts.lost) += units > 0 ? units : -units;
}

}  // namespace tollgate
