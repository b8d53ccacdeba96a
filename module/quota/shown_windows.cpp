#include "module/quota/shown_windows.hpp"

#include <algorithm>

#include "module/plan/window_rest.hpp"
#include "module/quota/lease.hpp"
#include "module/quota/node_bucket.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

ClockBounds no_earlier_than_replies(ClockBounds now, std::span<const QuotaState> states) {
    for (const QuotaState& state : states) {
        now.earliest = std::max(now.earliest, state.counted_at);
        now.exact = std::max<ExactInstant>(now.exact, state.counted_at);
    }
    now.latest = std::max(now.latest, now.earliest);
    return now;
}

ExactInstant reset_of(const QuotaState& state, const TableQuota& quota, std::size_t window,
                      Instant now, std::int64_t cost) {
    const Rate& rate = quota.rates[window];
    if (rate.is_bucket()) {
        return bucket_grants_at(state, quota, window, now, std::max<std::int64_t>(cost, 1));
    }
    return grants_at(granted_in(state, window), rate, quota.sliding, now, cost);
}

namespace {

/// Whether other nodes or other workers may return units of a window for `cost` before its reset.
bool may_be_returned(const QuotaState& state, const TableQuota& quota, std::size_t window,
                     ExactInstant reset, std::int64_t cost) {
    // In an outage, they don't. There are no leases of buckets.
    if (quota.has_bucket() || state.returns_until == Instant{} || state.nodes > 0 ||
        state.returns_until >= reset || cost > quota.rates[window].requests) {
        return false;
    }
    // A lease of an earlier window does not help this one, unless windows slide.
    const std::int64_t before = state.windows[window].counted.number - (quota.sliding ? 1 : 0);
    const auto within = state.returns_soon ? kReturnsSoon : lease_returns_within(quota);
    return state.returns_until - within >= window_start(before, quota.rates[window].period);
}

}  // namespace

ExactInstant retry_at(const QuotaState& state, const TableQuota& quota, std::size_t window,
                      Instant now, std::int64_t cost) {
    const ExactInstant reset = reset_of(state, quota, window, now, cost);
    return may_be_returned(state, quota, window, reset, cost) ? state.returns_until : reset;
}

namespace {

/// WindowState::reset. `waits`: the window or bucket is exhausted.
ExactInstant shown_reset(const QuotaState& state, const TableQuota& quota, std::size_t window,
                         Instant now, std::int64_t cost, bool waits) {
    if (waits) {
        return reset_of(state, quota, window, now, cost);
    }
    const Rate& rate = quota.rates[window];
    return rate.is_bucket() ? bucket_grants_at(state, quota, window, now, rate.burst)
                            : renewed_at(state.windows[window].counted, rate, now);
}

/// Sets what is left of a soft limit, with all that was granted, also alone in an outage: it is not
/// shared among nodes.
void set_soft_rest(WindowState& window, const WindowCount& granted, const TableQuota& quota,
                   Instant now) {
    window.over = 0;
    window.set_rest(window.rate.requests - spent(granted, window.rate.period, quota.sliding, now));
}

/// Adds the windows of a table. A window is exhausted if it has less than `room` left beside
/// `reserve`.
void add_windows(WindowStates& windows, const QuotaState& state, const TableQuota& quota,
                 Instant now, std::int64_t room, bool refused, std::int64_t reserve) {
    const std::size_t count = quota.rates.size();
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t limit = quota.shown_limit(i);
        if (limit == kNoLimit) {
            continue;
        }
        const std::int64_t units = std::max<std::int64_t>(left(state, quota, i, now), 0);
        const bool exhausted = refused && room > 0 && units - reserve < room;
        const ExactInstant reset = shown_reset(state, quota, i, now, room, exhausted || units == 0);
        const bool returns =
            exhausted && state.returns_until > now && may_be_returned(state, quota, i, reset, room);
        windows.push_back({.rate = quota.shown_rate(i),
                           .remaining = units,
                           .reset = reset,
                           .exhausted = exhausted,
                           .table = quota.table,
                           .policy = quota.policies[i],
                           .unit = quota.unit,
                           .retry = returns ? state.returns_until : Instant{}});
        if (quota.allows_over()) {
            set_soft_rest(windows.back(), granted_in(state, i), quota, now);
        }
    }
}

}  // namespace

WindowStates windows_of(std::span<const QuotaState> states, const Quotas& quotas,
                        const ClockBounds& now, const Cost& cost, bool refused) {
    bool any_exhausted = false;
    if (refused) {
        for_each_table(
            states, quotas, [&](const QuotaState& state, const TableQuota& quota, std::size_t i) {
                const std::int64_t room = cost.of(i).room();
                any_exhausted =
                    any_exhausted || (room > 0 && is_exhausted(state, quota, room, now.earliest));
            });
    }
    WindowStates windows;
    windows.reserve(window_count(quotas));
    for_each_table(
        states, quotas, [&](const QuotaState& stored, const TableQuota& quota, std::size_t i) {
            const std::int64_t room = cost.of(i).room();
            // If no window is exhausted, Redis refused because the node's lease holds the rest of
            // one.
            const std::int64_t reserve = any_exhausted ? 0 : std::int64_t{stored.lease};
            if (are_current(stored, quota, now)) {
                add_windows(windows, stored, quota, now.earliest, room, refused, reserve);
            } else {
                QuotaState rolled = stored;
                roll_windows(rolled, quota, now.earliest);
                add_windows(windows, rolled, quota, now.earliest, room, refused, reserve);
            }
        });
    return windows;
}

WindowStates granted_windows(std::span<const QuotaState> states, const Quotas& quotas, Instant now,
                             const Cost& cost) {
    WindowStates windows;
    windows.reserve(window_count(quotas));
    for_each_table(states, quotas,
                   [&](const QuotaState& state, const TableQuota& quota, std::size_t i) {
                       add_windows(windows, state, quota, now, cost.of(i).room(), false, 0);
                   });
    return windows;
}

WindowStates windows_of(std::span<const WindowCount> counts, const Quotas& quotas, Instant now,
                        const Cost& cost) {
    WindowStates windows;
    windows.reserve(counts.size());
    for (std::size_t table = 0; table < quotas.size(); ++table) {
        const TableQuota& quota = quotas[table];
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            const Rate& rate = quota.rates[i];
            const WindowCount& count = counts[i];
            if (quota.shown_limit(i) == kNoLimit) {
                continue;
            }
            const WindowRest rest = rest_of(count, rate, quota.sliding, now, cost.of(table).room());
            windows.push_back({.rate = quota.shown_rate(i),
                               .remaining = rest.remaining,
                               .reset = rest.reset,
                               .table = quota.table,
                               .policy = quota.policies[i],
                               .unit = quota.unit});
            if (quota.allows_over()) {
                set_soft_rest(windows.back(), count, quota, now);
            }
        }
        counts = counts.subspan(quota.rates.size());
    }
    return windows;
}

void add_later_requests(std::span<WindowState> windows, const Quotas& quotas, const Cost& cost,
                        std::int64_t requests) {
    auto window = windows.begin();
    for (std::size_t table = 0; table < quotas.size(); ++table) {
        const TableQuota& quota = quotas[table];
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            if (quota.shown_limit(i) != kNoLimit && window != windows.end()) {
                window->set_rest(window->rest() + requests * cost.of(table).units);
                ++window;
            }
        }
    }
}

}  // namespace tollgate
