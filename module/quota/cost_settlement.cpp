#include "module/quota/cost_settlement.hpp"

#include <algorithm>

#include "module/quota/lease.hpp"
#include "module/quota/node_bucket.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

namespace {

void settle_cost_of(QuotaState& state, const TableQuota& quota,
                    std::span<const WindowCount> windows, std::int64_t units, bool is_recalled) {
    restore_windows(state, quota, windows);  // It may have been evicted since.
    const bool has_lease = state.lease > 0 && are_same(state, windows);
    if (units < 0) {
        state.counts.refunded -= units;
    }
    if (has_lease && units < 0 && !is_recalled && state.lease - units <= most_lease(quota)) {
        state.lease -= units;
    } else if (has_lease && units > 0 && units <= state.lease) {
        state.lease -= units;
        state.counts.spent += units;
    } else {
        state.counts.noted += units > 0 ? units : 0;
        owe_to_windows(state, quota, windows, units);
        state.owes_refund = (state.owes_refund || units < 0) && owes(state);
    }
}

}  // namespace

WindowCounts counting_windows(std::span<const QuotaState> states, const Quotas& quotas,
                              const ClockBounds& now) {
    WindowCounts windows;
    windows.reserve(window_count(quotas));
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            // A request of cost 0 may be granted alone from windows that have ended.
            windows.push_back(roll(state.windows[i].counted, quota.rates[i], now.earliest));
        }
    });
    return windows;
}

void settle_cost(std::span<QuotaState> states, const Quotas& quotas,
                 std::span<const WindowCount> counting, const Cost& reserved, const Cost& used,
                 bool is_recalled, const ClockBounds& now) {
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota, std::size_t i) {
        const std::int64_t units = used.of(i).units - reserved.of(i).units;
        if (units != 0) {
            refill_owed(state, quota, now);
            settle_cost_of(state, quota, counting.first(quota.rates.size()), units, is_recalled);
            refill_owed(state, quota, now);
        }
        counting = counting.subspan(quota.rates.size());
    });
}

}  // namespace tollgate
