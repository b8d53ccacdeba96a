#include "module/quota/outage.hpp"

#include "module/quota/lease.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

namespace {

/// Grants units, which are reported to Redis later.
void owe(QuotaState& state, const TableQuota& quota, std::int64_t cost) {
    state.counts.noted += cost;
    // Units that wait to be given back are granted first. Redis has counted them.
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
        first.strikes_owed += demand.ban && demand.refusals_strike ? 1 : 0;
        return LocalAnswer::kLimited;
    }
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        // The lease of a table does not suffice. A table with room for its lease and this request
        // keeps its lease: units that are given back are lost if Redis's reply is lost.
        if (is_exhausted(state, quota, state.lease + demand.cost, now.earliest)) {
            give_back_lease(state, quota);
        }
        owe(state, quota, demand.cost);
    });
    return LocalAnswer::kGranted;
}

}  // namespace tollgate
