#pragma once

#include <cstdint>
#include <span>

#include "module/quota/quota_state.hpp"

namespace tollgate {

/// How many units to lease beyond the requests that are asked for: what the next 100 ms may bring
/// to every table, or to the end of the shortest window. 0 where that is too little, or where a
/// table has no leases. Redis grants at most an eighth of what is left (see Acquire::lease).
std::int64_t lease_size(std::span<const QuotaState> states, const Quotas& quotas,
                        const ClockBounds& now);

/// Takes `cost` from the lease of every table, or from none. False where a lease is too small or
/// its window may have ended.
bool spend_leases(std::span<QuotaState> states, const Quotas& quotas, std::int64_t cost,
                  const ClockBounds& now);

/// Whether no request has come for a second: the lease then goes back.
bool is_idle(const QuotaState& state, const ClockBounds& now);

/// Adds a lease that Redis counted in the windows `counts`. Units of windows that the state does
/// not have any more are owed back.
void add_lease(QuotaState& state, const TableQuota& quota, std::span<const WindowCount> counts,
               std::int64_t lease);

/// Owes the lease to every window, as units to give back.
void give_back_lease(QuotaState& state, const TableQuota& quota);

/// Owes all leases to Redis: the next prepare gives them back.
void give_back_leases(std::span<QuotaState> states, const Quotas& quotas);

/// Whether these are the windows that Redis counted last.
bool are_same(const QuotaState& state, std::span<const WindowCount> counts);

}  // namespace tollgate
