#include "module/quota/plain_acquire.hpp"

#include <algorithm>

#include "module/plan/bucket.hpp"
#include "module/quota/lease.hpp"
#include "module/quota/owed_units.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

bool has_room(const WindowCount& counted, const Rate& rate, std::int64_t cost) {
    if (rate.is_bucket()) {
        return tokens_left(rate, counted.count) >= cost;
    }
    return rate.requests - cost >= counted.count &&
           rate.requests - cost - counted.count >= counted.previous;
}

bool is_rare(const Arrivals& arrivals, const TableQuota& quota, std::int64_t cost) {
    return quota.lease_time == SteadyTime(0) || !may_lease(arrivals, cost);
}

bool is_plain(std::span<const QuotaState> states, const Quotas& quotas, const Demand& demand) {
    if (demand.ban) {
        return false;
    }
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        const QuotaState& state = states[i];
        const TableQuota& quota = quotas[i];
        const std::int64_t cost = demand.cost.of(i).units;
        if (cost == 0 || is_held(state) || state.lease_calls != 0 ||
            !is_rare(state.arrivals, quota, cost)) {
            return false;
        }
        for (std::size_t w = 0; w < quota.rates.size(); ++w) {
            if (!has_room(state.windows[w].counted, quota.rates[w], cost)) {
                return false;
            }
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
