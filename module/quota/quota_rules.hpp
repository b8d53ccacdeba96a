#pragma once

#include <cstdint>
#include <span>

#include "module/quota/quota_state.hpp"

// The rules that decisions (quota_state.hpp) and reports (quota_report.hpp) share.
namespace tollgate {

/// For how long a refusal holds without asking Redis again.
constexpr SteadyTime kRefusalHolds{1000};
/// For how long the bounds of Redis's clock are taken to be as narrow as when it was last heard of.
constexpr SteadyTime kClockHolds{100};
/// After how long without a request a lease is idle.
constexpr SteadyTime kIdleAfter{1000};
/// The length of a slot of Arrivals.
constexpr SteadyTime kSlot{100};

/// Calls `use` with each table's state and quota.
template <typename States, typename Use>
void for_each_table(States states, const Quotas& quotas, Use use) {
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        use(states[i], quotas[i]);
    }
}

/// Whether all windows that were told are still the current ones, for certain.
bool stands(const QuotaState& state, const TableQuota& quota, const Moment& now);

/// What was granted in a window, as far as the node knows: with what Redis is owed, and without the
/// lease.
WindowCount granted_in(const QuotaState& state, std::size_t window);

/// What is left of a window; below 0 where more was granted.
std::int64_t left(const QuotaState& state, const TableQuota& quota, std::size_t window,
                  Instant now);

/// Whether any window has less than `cost` left.
bool is_exhausted(const QuotaState& state, const TableQuota& quota, std::int64_t cost, Instant now);

/// Whether Redis is owed something, or is to be given something back, that is not in a report.
bool owes(const QuotaState& state);

/// Owes the lease to every window, as units to give back.
void give_back_lease(QuotaState& state, const TableQuota& quota);

/// Sets a window to what Redis told, or to an empty one. What is owed to the window before is kept
/// where windows slide; what is owed to an older one is dropped.
void set_window(QuotaState& state, const TableQuota& quota, std::size_t window,
                const WindowCount& count);

/// Leaves the windows that count at `now`; where they slide, what was granted before counts on.
void roll_windows(QuotaState& state, const TableQuota& quota, Instant now);

/// Counts units of the longest window: those above 0 were granted alone, those below 0 are of a
/// lease.
void count_settled(UnitCounts& counts, std::int64_t units);
void count_dropped(UnitCounts& counts, std::int64_t units);

}  // namespace tollgate
