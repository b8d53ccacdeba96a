#include "module/quota/acquire_reply.hpp"

#include <algorithm>

#include "module/quota/lease.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

namespace {

using namespace std::chrono_literals;

/// A reply is late by less than this. If its time is older still, Redis's clock has changed.
constexpr std::chrono::milliseconds kLate = 1s;

bool is_late(const QuotaState& state, const Acquired& acquired) {
    const auto lag = state.counted_at - acquired.now;
    return lag > 0ms && lag <= kLate;
}

/// Notes until when units of this table may be returned from the leases of other nodes. It keeps a
/// later time, until which slices of this node's workers may return units.
void note_leased_elsewhere(QuotaState& state, const TableQuota& quota, const Acquired& acquired,
                           std::size_t table) {
    if (!acquired.leased_elsewhere.empty() && acquired.leased_elsewhere[table] != Instant{}) {
        const Instant until = acquired.leased_elsewhere[table] + lease_returns_within(quota);
        state.returns_until = std::max(state.returns_until, until);
    }
    if (state.returns_until <= acquired.now) {
        state.returns_until = {};
    }
}

void take_counts(QuotaState& state, const TableQuota& quota, std::span<const WindowCount> counts,
                 const Acquired& acquired) {
    if (is_late(state, acquired)) {
        add_lease(state, quota, counts, acquired.lease);
        return;
    }
    const bool same = are_same(state, counts);
    if (!same) {
        // A lease belongs to one set of windows: return the old one.
        return_lease(state, quota);
    }
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        WindowCount counted = counts[i];
        if (same && state.counted_at == acquired.now) {
            counted.count = std::max(counted.count, state.windows[i].counted.count);
        }
        set_window(state, quota, i, counted);
    }
    state.counted_at = acquired.now;
    state.lease += acquired.lease;
}

}  // namespace

void apply_reply(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                 const Acquired& acquired) {
    acknowledge(states, quotas, acquire);
    if (acquire.demand.ban && !is_late(states.front(), acquired)) {
        states.front().ban.until = acquired.banned_until;
    }
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        if (!is_late(states[i], acquired)) {
            note_leased_elsewhere(states[i], quotas[i], acquired, i);
        }
    }
    std::span<const WindowCount> counts = acquired.windows;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        end_lease_call(state, acquire.is_lease_call);
        take_counts(state, quota, counts.first(quota.rates.size()), acquired);
        // Redis may have granted the rest as a lease, in a reply that another worker receives
        // later.
        if (state.lease_calls > 0 && is_exhausted(state, quota, 1, acquired.now)) {
            state.returns_until =
                std::max(state.returns_until, acquired.now + lease_returns_within(quota));
        }
        // Requests that were granted alone during the call may have taken the units that Redis
        // leased from. The lease then pays for them.
        const bool pays =
            (owes(state) || state.report) && is_exhausted(state, quota, state.lease, acquired.now);
        // Redis had no lease to grant, but the call has made the old one younger. Other nodes
        // expect its units earlier.
        const bool is_too_young = acquire.lease > 0 && acquired.lease == 0;
        // The node may forget a ban: no lease of the id may then be left.
        if (state.lease > 0 && (pays || is_too_young || acquired.banned_until > acquired.now)) {
            return_lease(state, quota);
        }
        note_own(state, quota, counts[quota.rates.size() - 1].number,
                 acquired.granted * acquire.demand.cost + acquired.lease);
        counts = counts.subspan(quota.rates.size());
    });
}

void keep_unused(std::span<QuotaState> states, const Quotas& quotas, const Acquired& acquired,
                 std::int64_t units) {
    std::span<const WindowCount> counts = acquired.windows;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        add_lease(state, quota, counts.first(quota.rates.size()), units);
        if (quota.lease_time == 0ms) {
            return_lease(state, quota);
        }
        counts = counts.subspan(quota.rates.size());
    });
}

}  // namespace tollgate
