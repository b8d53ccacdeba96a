#pragma once

#include <cstdint>
#include <span>

#include "module/quota/quota_state.hpp"

namespace tollgate {

/// How many units to lease in addition to an acquire's requests: the units that requests are
/// expected to need in each table within the next 100 ms, or until the shortest window ends. 0 if
/// these are too few, or if a table has no leases. Redis grants at most an eighth of what is left
/// (see Acquire::lease).
std::int64_t lease_size(std::span<const QuotaState> states, const Quotas& quotas,
                        const ClockBounds& now);

/// Takes `cost` from the lease of every table, or from none. Returns false if a lease is too small
/// or its window may have ended.
bool spend_leases(std::span<QuotaState> states, const Quotas& quotas, std::int64_t cost,
                  const ClockBounds& now);

/// Whether no request has come for a second. The lease is then given back.
bool is_idle(const QuotaState& state, const ClockBounds& now);

/// Adds a lease that Redis counted in the windows `counts`. Units of windows that the state no
/// longer has become units to give back.
void add_lease(QuotaState& state, const TableQuota& quota, std::span<const WindowCount> counts,
               std::int64_t lease);

/// Turns the lease into units to give back, in every window.
void give_back_lease(QuotaState& state, const TableQuota& quota);

/// Turns all leases into units to give back, which the next prepare sends.
void give_back_leases(std::span<QuotaState> states, const Quotas& quotas);

/// Whether these are the windows that Redis counted last.
bool are_same(const QuotaState& state, std::span<const WindowCount> counts);

}  // namespace tollgate
