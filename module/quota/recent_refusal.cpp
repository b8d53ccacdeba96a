#include "module/quota/recent_refusal.hpp"

#include <algorithm>

#include "module/quota/quota_windows.hpp"
#include "module/quota/slice.hpp"

namespace tollgate {

void RecentRefusal::set(LocalAnswer answer, const Demand& demand,
                        std::span<const QuotaState> states, std::span<const WindowState> windows,
                        const ClockBounds& now) {
    until_ = {};
    windows_.assign(windows.begin(), windows.end());
    answer_ = answer;
    strikes_ = demand.refusals_strike;
    cost_ = demand.cost;
    earliest_ = EarliestTime(now);
    banned_until_ = states.front().ban.until;
    SteadyTime rest = Slice::kLongest;
    const auto end_at = [&](ExactInstant end) {
        rest = std::min(rest, std::chrono::floor<SteadyTime>(end - now.latest) - Slice::kDrift);
    };
    if (answer == LocalAnswer::kBanned) {
        end_at(banned_until_);
    }
    for (const WindowState& window : windows) {
        end_at(window.reset);
        if (window.retry != Instant{}) {
            end_at(window.retry);
        }
    }
    for (const QuotaState& state : states) {
        rest = std::min(rest, state.asked + kRefusalHolds - now.steady);
    }
    until_ = now.steady + rest;
}

}  // namespace tollgate
