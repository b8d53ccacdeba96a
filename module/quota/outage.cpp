#include "module/quota/outage.hpp"

#include "module/quota/lease.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

namespace {

/// Counts a refusal as Redis does: strikes count within a time that begins with the first one.
void strike(Ban& ban, const BanPolicy& policy, SteadyTime now) {
    if (ban.strikes == 0 || now - ban.struck_since >= policy.within) {
        ban.strikes = 0;
        ban.struck_since = now;
    }
    ++ban.strikes;
}

/// Grants units, which are reported to Redis later.
void owe(QuotaState& state, const TableQuota& quota, std::int64_t cost) {
    state.counts.noted += cost;
    // Units that wait to be returned are granted first. Redis has counted them.
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        add_owed(state, quota, i, cost);
    }
}

}  // namespace

LocalAnswer decide_alone(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                         const ClockBounds& now) {
    QuotaState& first = states.front();
    if (is_banned(first, demand, now)) {
        return LocalAnswer::kBanned;
    }
    if (demand.cost == 0 || spend_leases(states, quotas, demand.cost, now)) {
        return LocalAnswer::kGranted;
    }
    bool exhausted = false;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        if (!are_current(state, quota, now)) {
            roll_windows(state, quota, now.earliest);
        }
        exhausted = exhausted || is_exhausted(state, quota, demand.cost, now.earliest);
    });
    if (exhausted) {
        if (demand.ban && demand.refusals_strike) {
            strike(first.ban, *demand.ban, now.steady);
        }
        return LocalAnswer::kLimited;
    }
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        // The lease of a table does not suffice. A table with room for its lease and this request
        // keeps its lease: units that are returned are lost if Redis's reply is lost.
        if (is_exhausted(state, quota, state.lease + demand.cost, now.earliest)) {
            return_lease(state, quota);
        }
        owe(state, quota, demand.cost);
    });
    return LocalAnswer::kGranted;
}

}  // namespace tollgate
