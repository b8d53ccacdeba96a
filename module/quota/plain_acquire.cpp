#include "module/quota/plain_acquire.hpp"

#include <algorithm>

#include "module/quota/bucket.hpp"
#include "module/quota/lease.hpp"
#include "module/quota/local_decision.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

namespace {

/// Whether the last counts of Redis leave room for the cost in each window, whichever are current.
/// Nothing is owed.
bool has_room(const QuotaState& state, const TableQuota& quota, std::int64_t cost) {
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        const WindowCount& counted = state.windows[i].counted;
        if (quota.rates[i].is_bucket()) {
            if (tokens_left(quota.rates[i], counted.count) < cost) {
                return false;
            }
            continue;
        }
        if (quota.rates[i].requests - cost < counted.count ||
            quota.rates[i].requests - cost - counted.count < counted.previous) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool is_plain(std::span<const QuotaState> states, const Quotas& quotas, const Demand& demand) {
    if (demand.ban || demand.cost == 0) {
        return false;
    }
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        const QuotaState& state = states[i];
        const bool has_leases = quotas[i].lease_time > SteadyTime(0);
        if (state.lease != 0 || state.lease_calls != 0 || state.report ||
            (has_leases && may_lease(state, demand.cost)) || owes(state) ||
            !has_room(state, quotas[i], demand.cost)) {
            return false;
        }
    }
    return true;
}

void note_plain(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                SteadyTime sent) {
    note_arrivals(states, quotas, acquire.demand, acquire.count, sent);
    for (QuotaState& state : states) {
        if (state.lease == 0) {
            state.asked = std::max(state.asked, sent);
        }
    }
}

}  // namespace tollgate
