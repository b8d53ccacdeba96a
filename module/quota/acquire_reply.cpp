#include "module/quota/acquire_reply.hpp"

#include <algorithm>
#include <vector>

#include "module/quota/lease.hpp"
#include "module/quota/quota_windows.hpp"
#include "module/quota/shown_windows.hpp"

namespace tollgate {

namespace {

using namespace std::chrono_literals;

/// Whether a reply is older than what Redis told at `told`, however late a worker received it. A
/// time that Redis's clock does not show yet is that of a clock that was set back since.
bool is_late(Instant told, const Acquired& acquired, const ClockBounds& now) {
    return acquired.now < told && told <= now.latest;
}

/// Takes the ban, unless a later reply told it, perhaps that of other tables.
void take_ban(Ban& ban, const Acquired& acquired, const ClockBounds& now) {
    if (is_late(ban.told, acquired, now) ||
        (ban.told == acquired.now && ban.until > acquired.banned_until)) {
        return;
    }
    ban.until = acquired.banned_until;
    ban.told = ban.until == Instant{} ? Instant{} : acquired.now;
}

/// Whether the node has granted requests alone in this window, or in the one before, and Redis
/// decided before the window began. The reply may have been delayed, or Redis's clock may be behind
/// the node's estimate.
bool owes_later_window(const QuotaState::Window& window, const Rate& rate, const WindowCount& count,
                       Instant decided) {
    return !rate.is_bucket() && count.number < window.counted.number &&
           (window.owed > 0 || window.owed_previous > 0) &&
           roll(window.counted, rate, decided) == window.counted;
}

/// Whether each window that has less than `room` left has counted a lease of this time.
bool may_help(const QuotaState& state, const TableQuota& quota, std::int64_t room, Instant leased,
              Instant now) {
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        if (quota.rates[i].is_bucket()) {
            continue;  // Nothing is leased of it.
        }
        const std::int64_t number = state.windows[i].counted.number - (quota.sliding ? 1 : 0);
        if (left(state, quota, i, now) < std::max<std::int64_t>(room, 1) &&
            leased < window_start(number, quota.rates[i].period)) {
            return false;
        }
    }
    return true;
}

/// Notes until when units of this table may be returned from the leases of other nodes. If they
/// were recalled, this includes the slices of this node's workers. Otherwise a later time remains,
/// until which slices may return units.
void note_leased_elsewhere(QuotaState& state, const TableQuota& quota, const Acquired& acquired,
                           const Cost& cost, std::size_t table) {
    const auto& all = acquired.leased_elsewhere;
    const LeaseElsewhere lease = all.empty() ? LeaseElsewhere{} : all[table];
    const Instant until = lease.at + lease_returns_within(quota);
    const Instant recalled_until = lease.recalled + kReturnsSoon;
    if (lease.at != Instant{} && until > acquired.now) {
        const bool is_recalled = lease.recalled >= lease.at;
        if (is_recalled && recalled_until > acquired.now && recalled_until < until &&
            may_help(state, quota, cost.of(table).room(), lease.at, acquired.now)) {
            state.returns_until = recalled_until;
            state.returns_soon = true;
        } else if (!is_recalled || recalled_until > acquired.now) {
            state.expect_returns(until, false);
        }  // Otherwise, its units are back.
    }
    if (state.returns_until <= acquired.now) {
        state.returns_until = {};
        state.returns_soon = false;
    }
}

void take_counts(QuotaState& state, const TableQuota& quota, std::span<const WindowCount> counts,
                 const Acquired& acquired, std::int64_t lease) {
    const bool same = are_same(state, counts);
    if (!same) {
        // A lease belongs to one set of windows: return the old one.
        return_lease(state, quota);
    }
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        WindowCount counted = counts[i];
        if (owes_later_window(state.windows[i], quota.rates[i], counted, acquired.now)) {
            WindowCount& later = state.windows[i].counted;
            if (quota.sliding && later.number == counted.number + 1) {
                later.previous = std::max(later.previous, counted.count);
            }
            continue;
        }
        if (same && state.counted_at == acquired.now) {
            const WindowCount& known = state.windows[i].counted;
            if (!quota.rates[i].is_bucket()) {
                counted.count = std::max(counted.count, known.count);
            } else if (known.previous > counted.previous) {
                counted = known;
            }
        }
        set_window(state, quota, i, counted);
    }
    state.counted_at = acquired.now;
    add_lease(state, quota, counts, lease);
}

}  // namespace

void apply_reply(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                 const Acquired& acquired, const ClockBounds& now) {
    acknowledge(states, quotas, acquire, acquired.windows);
    settle_lost_calls(states, acquire, acquired);
    if (acquire.demand.ban && !is_late(states.front().counted_at, acquired, now)) {
        take_ban(states.front().ban, acquired, now);
    }
    std::span<const WindowCount> counts = acquired.windows;
    const Cost& cost = acquire.demand.cost;
    for_each_table(
        states, quotas, [&](QuotaState& state, const TableQuota& quota, std::size_t table) {
            const std::int64_t lease = acquired.lease * cost.units_of_step(table);
            end_lease_call(state, acquire.is_lease_call_for(table));
            const std::span<const WindowCount> of_table = counts.first(quota.rates.size());
            if (is_late(state.counted_at, acquired, now)) {
                add_lease(state, quota, of_table, lease);
            } else {
                take_counts(state, quota, of_table, acquired, lease);
                note_leased_elsewhere(state, quota, acquired, cost, table);
            }
            // Redis may have granted the rest as a lease, in a reply that another worker receives
            // later.
            if (state.lease_calls > 0 && is_exhausted(state, quota, 1, acquired.now)) {
                state.expect_returns(acquired.now + kReturnsSoon, true);
            }
            // Requests that were granted alone during the call may have taken the units that Redis
            // leased from. The lease then pays for them.
            const bool pays = (owes(state) || state.report) &&
                              is_exhausted(state, quota, state.lease, acquired.now);
            // Redis had no lease to grant, but the call has made the old one younger. Other nodes
            // expect its units earlier.
            const bool is_too_young =
                acquire.lease > 0 && acquire.is_lease_call_for(table) && lease == 0;
            // The node may forget a ban: no lease of the id may then be left.
            if (state.lease > 0 && (pays || is_too_young || acquired.banned_until > acquired.now)) {
                return_lease(state, quota);
            }
            note_own(state, quota, of_table.back().number, acquired.units(cost, table));
            counts = counts.subspan(quota.rates.size());
        });
}

WindowStates refused_windows(std::span<const QuotaState> states, const Quotas& quotas,
                             const Acquired& acquired, const ClockBounds& now, const Cost& cost) {
    std::vector<QuotaState> decided(states.begin(), states.end());
    std::span<const WindowCount> counts = acquired.windows;
    for_each_table(std::span(decided), quotas, [&](QuotaState& state, const TableQuota& quota) {
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            if (state.windows[i].counted.number != counts[i].number) {
                state.windows[i] = {counts[i], 0, 0};
            }
        }
        counts = counts.subspan(quota.rates.size());
    });
    return windows_of(decided, quotas, now, cost, true);
}

void keep_unused(std::span<QuotaState> states, const Quotas& quotas, const Acquired& acquired,
                 std::int64_t requests, const Cost& cost) {
    std::span<const WindowCount> counts = acquired.windows;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota, std::size_t i) {
        add_lease(state, quota, counts.first(quota.rates.size()), requests * cost.of(i).units);
        if (quota.lease_time == 0ms) {
            return_lease(state, quota);
        }
        counts = counts.subspan(quota.rates.size());
    });
}

void apply_late_reply(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                      const Acquired& acquired) {
    acknowledge(states, quotas, acquire, acquired.windows);
    settle_lost_calls(states, acquire, acquired);
    std::span<const WindowCount> counts = acquired.windows;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota, std::size_t i) {
        const std::int64_t units = acquired.units(acquire.demand.cost, i);
        const std::span<const WindowCount> of_table = counts.first(quota.rates.size());
        end_lease_call(state, acquire.is_lease_call_for(i));
        restore_windows(state, quota, of_table);  // It may have been evicted since.
        owe_to_windows(state, quota, of_table, -units);
        state.owes_refund = (state.owes_refund || units > 0) && owes(state);
        note_own(state, quota, of_table.back().number, units);
        counts = counts.subspan(quota.rates.size());
    });
}

}  // namespace tollgate
