#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "module/quota/quota_state.hpp"

namespace tollgate {

/// The bounds, raised to the time of Redis's last reply about these states. By the clock's bounds
/// alone, a window that has just begun may seem to be in the future.
ClockBounds no_earlier_than_replies(ClockBounds now, std::span<const QuotaState> states);

/// The windows that the response shows after a request of this cost: those with a limit. If it was
/// `refused`, the exhausted windows are marked.
WindowStates windows_of(std::span<const QuotaState> states, const Quotas& quotas,
                        const ClockBounds& now, const Cost& cost, bool refused);

/// The windows that the response shows after a request of this cost that the node has granted:
/// those with a limit. decide() or decide_alone() has found that the windows are current, or has
/// set them to those at `now`.
WindowStates granted_windows(std::span<const QuotaState> states, const Quotas& quotas, Instant now,
                             const Cost& cost);

/// The windows that the response shows after a granted request of this cost that Redis decided at
/// `now`: those with a limit. `counts` are Redis's counts, in the order of `quotas`. The node has
/// neither leases of the quotas nor units that Redis has yet to count.
WindowStates windows_of(std::span<const WindowCount> counts, const Quotas& quotas, Instant now,
                        const Cost& cost);

/// Adds what so many requests of this cost take to what the windows of these quotas have left: the
/// windows are those after requests that came later.
void add_later_requests(std::span<WindowState> windows, const Quotas& quotas, const Cost& cost,
                        std::int64_t requests);

/// When an exhausted window or bucket grants `cost` again.
ExactInstant reset_of(const QuotaState& state, const TableQuota& quota, std::size_t window,
                      Instant now, std::int64_t cost);

/// When an exhausted window may grant `cost` again: at reset_of, or earlier if other nodes or other
/// workers may return units (see QuotaState::returns_until).
ExactInstant retry_at(const QuotaState& state, const TableQuota& quota, std::size_t window,
                      Instant now, std::int64_t cost);

}  // namespace tollgate
