#include "module/quota/quota_state.hpp"

#include <algorithm>

#include "module/quota/quota_rules.hpp"

namespace tollgate {

namespace {

bool spend_leases(std::span<QuotaState> states, const Quotas& quotas, std::int64_t cost,
                  const Moment& now) {
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        if (states[i].lease < cost || !stands(states[i], quotas[i], now)) {
            return false;
        }
    }
    for (QuotaState& state : states) {
        state.lease -= cost;
        state.counts.spent += cost;
    }
    return true;
}

bool is_banned(const QuotaState& first, const Demand& demand, const Moment& now) {
    return demand.ban && first.banned_until > now.latest;
}

/// Whether Retry-After is the same by both bounds of Redis's clock. Close to a full second it may
/// not be; Redis is then asked, which also narrows the bounds, but not many times in a row.
bool is_wait_known(const QuotaState& state, Instant until, const Moment& now) {
    return now.steady - state.asked < kClockHolds ||
           retry_after(now.exact, until) == retry_after(now.latest, until);
}

/// When an exhausted window grants again.
Instant reset_of(const QuotaState& state, const TableQuota& quota, std::size_t window,
                 std::int64_t cost) {
    const Rate& rate = quota.rates[window];
    const WindowCount granted = granted_in(state, window);
    return quota.sliding ? room_at(granted, rate, std::max<std::int64_t>(cost, 1))
                         : window_end(granted.number, rate.period);
}

/// Grants units that Redis is to be told about.
void owe(QuotaState& state, const TableQuota& quota, std::int64_t cost) {
    // Units that wait to be given back are granted first: of these Redis need not hear.
    const std::int64_t cancelled =
        std::clamp<std::int64_t>(-state.windows[quota.rates.size() - 1].owed, 0, cost);
    state.counts.noted += cost;
    state.counts.returned += cancelled;
    state.counts.settled += cancelled;
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        state.windows[i].owed += cost;
    }
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

SteadyTime Arrivals::last() const {
    return (slot + 1) * kSlot;
}

void note_arrivals(std::span<QuotaState> states, const Demand& demand, std::int64_t count,
                   SteadyTime now) {
    QuotaState& first = states.front();
    if (demand.ban && now - first.arrivals.last() >= demand.ban->within) {
        first.strikes_untold = 0;
    }
    for (QuotaState& state : states) {
        state.arrivals.note(now, count * demand.cost);
    }
}

LocalAnswer decide(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                   const Moment& now) {
    const auto is_fresh = [&](const QuotaState& state) {
        return now.steady - state.asked < kRefusalHolds && state.asked > demand.changed;
    };
    const QuotaState& first = states.front();
    if (is_banned(first, demand, now)) {
        const bool known = is_fresh(first) && is_wait_known(first, first.banned_until, now);
        return known ? LocalAnswer::kBanned : LocalAnswer::kAsk;
    }
    if (demand.cost == 0) {
        return LocalAnswer::kAsk;
    }
    if (spend_leases(states, quotas, demand.cost, now)) {
        return LocalAnswer::kGranted;
    }
    if (demand.ban && demand.refusals_strike) {
        return LocalAnswer::kAsk;
    }
    bool exhausted = false;
    bool known = true;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        if (!is_fresh(state) || !stands(state, quota, now)) {
            return;
        }
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            if (left(state, quota, i, now.latest) < demand.cost) {
                exhausted = true;
                known = known && is_wait_known(state, reset_of(state, quota, i, demand.cost), now);
            }
        }
    });
    return exhausted && known ? LocalAnswer::kLimited : LocalAnswer::kAsk;
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
        if (!stands(state, quota, now)) {
            roll_windows(state, quota, now.earliest);
        }
        exhausted = exhausted || is_exhausted(state, quota, demand.cost, now.earliest);
    });
    if (exhausted) {
        first.strikes_untold += demand.ban && demand.refusals_strike ? 1 : 0;
        return LocalAnswer::kLimited;
    }
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        // Another table could not use its lease. This one keeps its own as long as there is room
        // beside it: what is given back would be lost with an answer of Redis.
        if (is_exhausted(state, quota, state.lease + demand.cost, now.earliest)) {
            give_back_lease(state, quota);
        }
        owe(state, quota, demand.cost);
    });
    return LocalAnswer::kGranted;
}

Moment once_told(Moment now, std::span<const QuotaState> states) {
    for (const QuotaState& state : states) {
        now.earliest = std::max(now.earliest, state.told_at);
        now.exact = std::max<ExactInstant>(now.exact, state.told_at);
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
            const auto rest = std::max<std::int64_t>(left(state, quota, i, now.earliest), 0);
            const bool exhausted = refused && rest - reserve < cost;
            const bool slides_on = quota.sliding && (exhausted || rest == 0);
            windows.push_back({.rate = rate,
                               .remaining = rest,
                               .reset = slides_on
                                            ? reset_of(state, quota, i, cost)
                                            : window_end(state.windows[i].told.number, rate.period),
                               .exhausted = exhausted,
                               .policy = quota.policies[i]});
        }
    });
    return windows;
}

}  // namespace tollgate
