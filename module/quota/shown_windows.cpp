#include "module/quota/shown_windows.hpp"

#include <algorithm>

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

Instant reset_of(const QuotaState& state, const TableQuota& quota, std::size_t window,
                 std::int64_t cost) {
    const Rate& rate = quota.rates[window];
    const WindowCount granted = granted_in(state, window);
    return quota.sliding ? room_at(granted, rate, std::max<std::int64_t>(cost, 1))
                         : window_end(granted.number, rate.period);
}

std::vector<WindowState> windows_of(std::span<const QuotaState> states, const Quotas& quotas,
                                    const ClockBounds& now, std::int64_t cost, bool refused) {
    bool any_exhausted = false;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        any_exhausted =
            refused && (any_exhausted || is_exhausted(state, quota, cost, now.earliest));
    });
    std::vector<WindowState> windows;
    windows.reserve(window_count(quotas));
    for_each_table(states, quotas, [&](QuotaState state, const TableQuota& quota) {
        // If no window is exhausted, Redis refused because the node's lease holds the rest of one.
        const std::int64_t reserve = any_exhausted ? 0 : state.lease;
        if (!are_current(state, quota, now)) {
            roll_windows(state, quota, now.earliest);
        }
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            const Rate& rate = quota.rates[i];
            const auto rest = std::max<std::int64_t>(left(state, quota, i, now.earliest), 0);
            const bool exhausted = refused && rest - reserve < cost;
            const bool slides_on = quota.sliding && (exhausted || rest == 0);
            windows.push_back(
                {.rate = rate,
                 .remaining = rest,
                 .reset = slides_on ? reset_of(state, quota, i, cost)
                                    : window_end(state.windows[i].counted.number, rate.period),
                 .exhausted = exhausted,
                 .policy = quota.policies[i]});
        }
    });
    return windows;
}

}  // namespace tollgate
