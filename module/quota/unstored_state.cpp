#include "module/quota/unstored_state.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "module/quota/lease.hpp"
#include "module/quota/owed_units.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

namespace {

/// Counts units of the longest window that a worker takes; `sign` -1: that it gives back.
void count_unstored(UnitCounts& counts, std::int64_t units, int sign) {
    if (units > 0) {
        counts.owed_carried += sign * units;
    } else {
        counts.carried -= sign * units;
    }
}

void count_unstored(UnitCounts& counts, const QuotaState& unstored, const TableQuota& quota,
                    int sign) {
    const QuotaState::Window& longest = unstored.windows[quota.rates.size() - 1];
    count_unstored(counts, longest.owed, sign);
    count_unstored(counts, longest.owed_previous, sign);
}

}  // namespace

QuotaState take_unstored(QuotaState& state, const TableQuota& quota) {
    return_lease(state, quota);
    QuotaState taken;
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        auto& [counted, owed, owed_previous] = state.windows[i];
        taken.windows[i] = {counted, std::exchange(owed, 0), std::exchange(owed_previous, 0)};
    }
    taken.owes_refund = std::exchange(state.owes_refund, false);
    count_unstored(state.counts, taken, quota, 1);
    return taken;
}

void add_unstored(QuotaState& state, const TableQuota& quota, const QuotaState& unstored) {
    std::array<WindowCount, kMaxWindows> windows{};
    std::array<Adjustment, kMaxWindows> owed{};
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        const QuotaState::Window& window = unstored.windows[i];
        windows[i] = window.counted;
        owed[i] = {window.counted.number, window.owed, window.owed_previous};
    }
    restore_windows(state, quota, windows);
    count_unstored(state.counts, unstored, quota, -1);
    owe_again(state, quota, std::span(owed).first(quota.rates.size()));
    for (std::size_t i = 0; i < quota.rates.size() && quota.rates[i].is_bucket(); ++i) {
        // The time since when a debt refills.
        auto& [counted, debt, since] = state.windows[i];
        since = debt > 0 ? std::max<std::int64_t>(since, unstored.windows[i].owed_previous) : 0;
    }
    state.owes_refund = (state.owes_refund || unstored.owes_refund) && owes(state);
}

}  // namespace tollgate
