#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "module/plan/window_rest.hpp"
#include "module/quota/node_bucket.hpp"
#include "module/quota/quota_state.hpp"

// The windows of a quota: the current ones, and the units left in them.
namespace tollgate {

/// Calls `use` with each table's state and quota, and with its index if `use` takes it.
template <typename States, typename Use>
void for_each_table(States states, const Quotas& quotas, Use use) {
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        if constexpr (std::is_invocable_v<Use, decltype(states[i]), const TableQuota&,
                                          std::size_t>) {
            use(states[i], quotas[i], i);
        } else {
            use(states[i], quotas[i]);
        }
    }
}

/// Whether all windows of Redis's last counts are certainly still the current ones.
bool are_current(const QuotaState& state, const TableQuota& quota, const ClockBounds& now);

/// For how long a refusal holds without asking Redis again.
constexpr SteadyTime kRefusalHolds{1000};

/// Whether Redis counted this quota after the last change of the key or its id. If not, its lease
/// and a ban may be outdated.
bool knows_change(const QuotaState& state, const Demand& demand, const ClockBounds& now);

/// Adds what was reported of a window and is not acknowledged yet: Redis's last count may already
/// contain it. Units that the report returns must not count twice.
void add_reported(const QuotaState& state, std::size_t window, WindowCount& granted);

/// What was granted in a window: Redis's last count and the owed units, without the lease.
inline WindowCount granted_in(const QuotaState& state, std::size_t window) {
    const auto& [counted, owed, owed_previous] = state.windows[window];
    WindowCount granted{counted.number, counted.count + owed - state.lease,
                        counted.previous + owed_previous};
    if (state.report) {
        add_reported(state, window, granted);
    }
    // A Redis that has lost counts may have less than the lease.
    granted.count = std::max<std::int64_t>(granted.count, 0);
    granted.previous = std::max<std::int64_t>(granted.previous, 0);
    return granted;
}

/// The part of `units`, which were left when Redis was last reachable, that this node may grant
/// alone: its share of the units that Redis counted in the longest window, or an equal share of all
/// nodes, whichever is more. Rounded up.
std::int64_t share_of(const QuotaState& state, const TableQuota& quota, std::int64_t units);

/// What is left of this node's share of a window, in which this was granted.
std::int64_t left_of_share(const QuotaState& state, const TableQuota& quota, std::size_t window,
                           const WindowCount& granted, Instant now);

/// What is left of a window or bucket; below 0 if more was granted than the limit. In an outage
/// (QuotaState::nodes), what is left of this node's share. Of a bucket, the node's share has this
/// part of its rate, of its burst (at least one token) and of the debt that Redis knows.
inline std::int64_t left(const QuotaState& state, const TableQuota& quota, std::size_t window,
                         Instant now) {
    const Rate& rate = quota.rates[window];
    if (rate.is_bucket()) {
        return left_in_bucket(state, quota, window, now);
    }
    const WindowCount granted = granted_in(state, window);
    const std::int64_t all = units_left(granted, rate, quota.sliding, now);
    return state.nodes <= 1 ? all
                            : std::min(all, left_of_share(state, quota, window, granted, now));
}

/// Whether any window has less than `cost` left.
bool is_exhausted(const QuotaState& state, const TableQuota& quota, std::int64_t cost, Instant now);

/// Whether there are units for Redis to add or take back that no report carries.
bool owes(const QuotaState& state);

/// Redis has counted or taken back units of this node in a window, which counts if it is the
/// longest one of the state.
void note_own(QuotaState& state, const TableQuota& quota, std::int64_t number, std::int64_t units);

/// Adds units to those owed to a window. A bucket owes the debt of so many tokens. Granted units
/// (above 0) and units of a lease (below 0) that meet are not sent to Redis. If the window is the
/// longest one, they count as settled and as returned.
void add_owed(QuotaState& state, const TableQuota& quota, std::size_t window, std::int64_t units);

/// Adds units to those owed to the window before `window`. Granted units (above 0) and units of a
/// lease (below 0) that meet are not sent to Redis. If `window` is the longest one, they count as
/// settled and as returned.
void add_owed_previous(QuotaState& state, const TableQuota& quota, std::size_t window,
                       std::int64_t units);

/// Adds units to those owed to the buckets, and to the windows with the numbers of `windows`. Units
/// of a window that has ended are dropped, unless it is a day of a history, or the previous one of
/// a sliding window.
void owe_to_windows(QuotaState& state, const TableQuota& quota,
                    std::span<const WindowCount> windows, std::int64_t units);

/// Sets a window to Redis's count, or to an empty one. Units owed to the window before are kept if
/// windows slide or have a history. Other units owed to earlier windows are dropped.
void set_window(QuotaState& state, const TableQuota& quota, std::size_t window,
                const WindowCount& count);

/// Sets the windows of a state without counts of Redis, which may have been evicted, to these if
/// they are later.
void restore_windows(QuotaState& state, const TableQuota& quota,
                     std::span<const WindowCount> windows);

/// Adds units of the longest window to the statistics: above 0 they were granted while Redis was
/// unreachable, below 0 they are of a lease. A sum of both must be counted by its parts.
void count_settled(UnitCounts& counts, std::int64_t units);
void count_dropped(UnitCounts& counts, std::int64_t units);

}  // namespace tollgate
