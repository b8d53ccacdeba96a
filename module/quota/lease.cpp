#include "module/quota/lease.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "module/quota/quota_windows.hpp"

namespace tollgate {

namespace {

/// A lease covers this time, the span of Arrivals::expected.
constexpr SteadyTime kSpan{100};
/// After how long without a request a lease is idle.
constexpr SteadyTime kIdleAfter{1000};
/// The smallest lease. At a lower rate, 100 ms often pass without a request, and leases would often
/// be idle.
constexpr std::int64_t kLeastLease = 8;

}  // namespace

std::int64_t lease_size(std::span<const QuotaState> states, const Quotas& quotas,
                        const ClockBounds& now) {
    std::int64_t expected = std::numeric_limits<std::int64_t>::max() / kSpan.count();
    std::chrono::milliseconds span = kSpan;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        expected = std::min(expected, state.arrivals.expected(now.steady));
        for (const Rate& rate : quota.rates) {
            span = std::min(
                span, window_end(window_number(now.latest, rate.period), rate.period) - now.latest);
        }
    });
    const std::int64_t wanted = expected * span / kSpan;
    return wanted < kLeastLease || !std::ranges::all_of(quotas, &TableQuota::leases) ? 0 : wanted;
}

bool spend_leases(std::span<QuotaState> states, const Quotas& quotas, std::int64_t cost,
                  const ClockBounds& now) {
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        if (states[i].lease < cost || !are_current(states[i], quotas[i], now)) {
            return false;
        }
    }
    for (QuotaState& state : states) {
        state.lease -= cost;
        state.counts.spent += cost;
    }
    return true;
}

bool is_idle(const QuotaState& state, const ClockBounds& now) {
    return state.arrivals.last() + kIdleAfter <= now.steady;
}

bool are_same(const QuotaState& state, std::span<const WindowCount> counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (state.windows[i].counted.number != counts[i].number) {
            return false;
        }
    }
    return true;
}

void add_lease(QuotaState& state, const TableQuota& quota, std::span<const WindowCount> counts,
               std::int64_t lease) {
    if (are_same(state, counts)) {
        state.lease += lease;
        return;
    }
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        auto& window = state.windows[i];
        if (window.counted.number == counts[i].number) {
            window.owed -= lease;
        } else if (i + 1 == quota.rates.size()) {
            count_dropped(state.counts, -lease);
        }
    }
}

void give_back_lease(QuotaState& state, const TableQuota& quota) {
    const std::int64_t lease = std::exchange(state.lease, 0);
    if (lease == 0) {
        return;
    }
    // Owed units take the place of the lease; neither is sent to Redis.
    const std::int64_t cancelled =
        std::clamp<std::int64_t>(state.windows[quota.rates.size() - 1].owed, 0, lease);
    state.counts.returned += cancelled;
    state.counts.settled += cancelled;
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        state.windows[i].owed -= lease;
    }
}

void give_back_leases(std::span<QuotaState> states, const Quotas& quotas) {
    for_each_table(states, quotas, give_back_lease);
}

}  // namespace tollgate
