#include "module/core/quota_state.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tollgate {

using namespace std::chrono_literals;

namespace {

constexpr SteadyTime kSlot = 100ms;
/// How long a refusal holds without asking again, and a lease without being used.
constexpr SteadyTime kWhile = 1s;
/// Of fewer, too many would lie idle: what comes at random leaves 100 ms empty that bring that few.
constexpr std::int64_t kLeastLease = 8;
/// Replies come late by less than this; a time that is earlier still is that of another clock.
constexpr std::chrono::milliseconds kLate = 1s;

/// Calls `use` with each table's state and quota.
template <typename States, typename Use>
void for_each_table(States states, const Quotas& quotas, Use use) {
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        use(states[i], quotas[i]);
    }
}

/// Whether all windows that were told are still the current ones, for certain.
bool stands(const QuotaState& state, const TableQuota& quota, const Moment& now) {
    if (state.told_at == Instant{}) {
        return false;
    }
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        if (!still_counts(state.windows[i].told, quota.rates[i].period, now.earliest, now.latest)) {
            return false;
        }
    }
    return true;
}

/// What was granted in a window, as far as the node knows: with what it is owed, and without the
/// lease.
WindowCount granted_in(const QuotaState& state, std::size_t i) {
    WindowCount window = state.windows[i].told;
    // A Redis that has lost counts may have less than the lease.
    window.count = std::max<std::int64_t>(window.count + state.windows[i].owed - state.lease, 0);
    return window;
}

std::int64_t left(const QuotaState& state, const TableQuota& quota, std::size_t i, Instant now) {
    const Rate& rate = quota.rates[i];
    return rate.requests - spent(granted_in(state, i), rate.period, quota.sliding, now);
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

/// Whether Redis is owed something, or is to be given something back.
bool owes(const QuotaState& state) {
    return std::ranges::any_of(state.windows,
                               [](const QuotaState::Window& window) { return window.owed != 0; });
}

void give_back_lease(QuotaState& state, const TableQuota& quota) {
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        state.windows[i].owed -= state.lease;
    }
    state.lease = 0;
}

/// Sets a window; what is owed to another one is of no use any more.
void set_window(QuotaState::Window& window, const WindowCount& count) {
    if (window.told.number != count.number) {
        window.owed = 0;
    }
    window.told = count;
}

/// Leaves the windows that count at `now`; where they slide, what was granted before counts on.
void roll_windows(QuotaState& state, const TableQuota& quota, Instant now) {
    give_back_lease(state, quota);
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        const WindowCount window = roll(granted_in(state, i), quota.rates[i].period, now);
        if (window.number != state.windows[i].told.number) {
            set_window(state.windows[i], window);
        }
    }
}

bool spend_leases(std::span<QuotaState> states, const Quotas& quotas, std::int64_t cost,
                  const Moment& now) {
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        if (states[i].lease < cost || !stands(states[i], quotas[i], now)) {
            return false;
        }
    }
    for (QuotaState& state : states) {
        state.lease -= cost;
    }
    return true;
}

bool is_banned(const QuotaState& first, const Demand& demand, const Moment& now) {
    return demand.ban && first.banned_until > now.latest;
}

bool is_idle(const QuotaState& state, const Moment& now) {
    return state.arrivals.slot * kSlot + kSlot + kWhile <= now.steady;
}

/// What the next 100 ms may bring to every table, or what is left of them in the windows.
std::int64_t wanted_lease(std::span<const QuotaState> states, const Quotas& quotas,
                          const Moment& now) {
    std::int64_t expected = std::numeric_limits<std::int64_t>::max() / kSlot.count();
    std::chrono::milliseconds span = kSlot;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        expected = std::min(expected, state.arrivals.expected(now.steady));
        for (const Rate& rate : quota.rates) {
            span = std::min(
                span, window_end(window_number(now.latest, rate.period), rate.period) - now.latest);
        }
    });
    const std::int64_t wanted = expected * span / kSlot;
    return wanted < kLeastLease || !std::ranges::all_of(quotas, &TableQuota::leases) ? 0 : wanted;
}

}  // namespace

void Arrivals::note(SteadyTime time, std::int64_t units) {
    const std::int64_t current = time / kSlot;
    // Another worker's time may be a little ahead.
    if (current > slot) {
        before = current == slot + 1 ? now : 0;
        now = 0;
        slot = current;
    }
    now += units;
}

std::int64_t Arrivals::expected(SteadyTime time) const {
    const std::int64_t current = time / kSlot;
    if (current <= slot) {
        return std::max(now, before);
    }
    return current == slot + 1 ? now : 0;
}

void note_arrivals(std::span<QuotaState> states, const Demand& demand, std::int64_t count,
                   SteadyTime now) {
    for (QuotaState& state : states) {
        state.arrivals.note(now, count * demand.cost);
    }
}

LocalAnswer decide(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                   const Moment& now) {
    const auto is_fresh = [&](const QuotaState& state) {
        return now.steady - state.asked < kWhile && state.asked > demand.changed;
    };
    QuotaState& first = states.front();
    if (is_banned(first, demand, now)) {
        return is_fresh(first) ? LocalAnswer::kBanned : LocalAnswer::kAsk;
    }
    if (demand.cost == 0) {
        return LocalAnswer::kAsk;
    }
    if (spend_leases(states, quotas, demand.cost, now)) {
        return LocalAnswer::kGranted;
    }
    bool exhausted = false;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        exhausted = exhausted || (is_fresh(state) && stands(state, quota, now) &&
                                  is_exhausted(state, quota, demand.cost, now.latest));
    });
    if (!exhausted) {
        return LocalAnswer::kAsk;
    }
    if (demand.ban && demand.refusals_strike) {
        // The strike that makes the ban is for Redis to count.
        if (first.strikes_told + first.strikes_untold + 1 >= demand.ban->after) {
            return LocalAnswer::kAsk;
        }
        ++first.strikes_untold;
    }
    return LocalAnswer::kLimited;
}

LocalAnswer decide_alone(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                         const Moment& now) {
    QuotaState& first = states.front();
    if (is_banned(first, demand, now)) {
        return LocalAnswer::kBanned;
    }
    if (demand.cost == 0 || spend_leases(states, quotas, demand.cost, now)) {
        return LocalAnswer::kGranted;
    }
    bool exhausted = false;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        roll_windows(state, quota, now.earliest);
        exhausted = exhausted || is_exhausted(state, quota, demand.cost, now.earliest);
    });
    if (exhausted) {
        first.strikes_untold += demand.ban && demand.refusals_strike ? 1 : 0;
        return LocalAnswer::kLimited;
    }
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            state.windows[i].owed += demand.cost;
        }
    });
    return LocalAnswer::kGranted;
}

Tidings prepare(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                const Moment& now) {
    Tidings tidings;
    bool adjusts = false;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        // Redis refuses what only the lease makes room for.
        if (state.lease > 0 &&
            (!stands(state, quota, now) || is_idle(state, now) ||
             is_exhausted(state, quota, state.lease + demand.cost, now.latest))) {
            give_back_lease(state, quota);
        }
        state.asked = now.steady;
        adjusts = adjusts || owes(state);
    });
    if (adjusts) {
        for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
            for (std::size_t i = 0; i < quota.rates.size(); ++i) {
                auto& window = state.windows[i];
                const auto units = std::exchange(window.owed, 0);
                // Until Redis answers it counts here: others may decide alone meanwhile.
                window.told.count += units;
                tidings.adjustments.push_back({window.told.number, units});
            }
            tidings.told_at.push_back(state.told_at);
        });
    }
    tidings.lease = demand.cost > 0 ? wanted_lease(states, quotas, now) : 0;
    // Where no ban counts, nor do they: untold, they would be there to be told for ever.
    const auto strikes = std::exchange(states.front().strikes_untold, 0);
    tidings.strikes = demand.ban ? strikes : 0;
    return tidings;
}

void give_back_leases(std::span<QuotaState> states, const Quotas& quotas) {
    for_each_table(states, quotas, give_back_lease);
}

void restore(std::span<QuotaState> states, const Quotas& quotas, const Tidings& tidings) {
    states.front().strikes_untold += tidings.strikes;
    if (tidings.adjustments.empty()) {
        return;
    }
    auto adjustment = tidings.adjustments.begin();
    auto told_at = tidings.told_at.begin();
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        // What Redis told since doesn't have them.
        const bool has_them = state.told_at == *told_at++;
        for (std::size_t i = 0; i < quota.rates.size(); ++i, ++adjustment) {
            auto& [told, owed] = state.windows[i];
            if (told.number == adjustment->number) {
                told.count -= has_them ? adjustment->units : 0;
                owed += std::max<std::int64_t>(adjustment->units, 0);
            }
        }
    });
}

void take_in(std::span<QuotaState> states, const Quotas& quotas, const Acquired& acquired) {
    const auto is_late = [&](const QuotaState& state) {
        const auto lag = state.told_at - acquired.now;
        return lag > 0ms && lag <= kLate;
    };
    if (!is_late(states.front())) {
        states.front().banned_until = acquired.banned_until;
        states.front().strikes_told = acquired.strikes;
    }
    auto count = acquired.windows.begin();
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        const bool late = is_late(state);
        bool same = true;
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            same = same &&
                   state.windows[i].told.number == count[static_cast<std::ptrdiff_t>(i)].number;
        }
        if (!same && !late) {
            // Two leases of different windows can't be kept as one.
            give_back_lease(state, quota);
        }
        for (std::size_t i = 0; i < quota.rates.size(); ++i, ++count) {
            auto& window = state.windows[i];
            if (late) {
                window.owed -= !same && window.told.number == count->number ? acquired.lease : 0;
                continue;
            }
            WindowCount told = *count;
            if (same && state.told_at == acquired.now) {
                told.count = std::max(told.count, window.told.count);
            }
            set_window(window, told);
        }
        if (!late) {
            state.told_at = acquired.now;
        }
        state.lease += late && !same ? 0 : acquired.lease;
    });
}

bool needs_settling(std::span<const QuotaState> states, const Moment& now) {
    return states.front().strikes_untold > 0 ||
           std::ranges::any_of(states, [&](const QuotaState& state) {
               return (state.lease > 0 && is_idle(state, now)) || owes(state);
           });
}

bool may_need_settling(std::span<const QuotaState> states) {
    return states.front().strikes_untold > 0 ||
           std::ranges::any_of(
               states, [](const QuotaState& state) { return state.lease > 0 || owes(state); });
}

Moment once_told(Moment now, std::span<const QuotaState> states) {
    for (const QuotaState& state : states) {
        now.earliest = std::max(now.earliest, state.told_at);
    }
    now.latest = std::max(now.latest, now.earliest);
    return now;
}

std::vector<WindowState> windows_of(std::span<const QuotaState> states, const Quotas& quotas,
                                    const Moment& now, std::int64_t cost, bool refused) {
    bool any_exhausted = false;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        any_exhausted =
            refused && (any_exhausted || is_exhausted(state, quota, cost, now.earliest));
    });
    std::vector<WindowState> windows;
    windows.reserve(window_count(quotas));
    for_each_table(states, quotas, [&](QuotaState state, const TableQuota& quota) {
        // Where none is, Redis refused for one of which the node holds the rest.
        const std::int64_t reserve = any_exhausted ? 0 : state.lease;
        if (!stands(state, quota, now)) {
            roll_windows(state, quota, now.earliest);
        }
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            const Rate& rate = quota.rates[i];
            const WindowCount window = granted_in(state, i);
            const auto rest = std::max<std::int64_t>(left(state, quota, i, now.earliest), 0);
            const bool exhausted = refused && rest - reserve < cost;
            const bool slides_on = quota.sliding && (exhausted || rest == 0);
            windows.push_back({.rate = rate,
                               .remaining = rest,
                               .reset = slides_on
                                            ? room_at(window, rate, std::max<std::int64_t>(cost, 1))
                                            : window_end(window.number, rate.period),
                               .exhausted = exhausted,
                               .policy = quota.policies[i]});
        }
    });
    return windows;
}

}  // namespace tollgate
