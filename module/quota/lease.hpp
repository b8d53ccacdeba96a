#pragma once

#include <cstdint>
#include <span>

#include "module/quota/quota_state.hpp"

namespace tollgate {

/// The longest time for which a renewal waits for others that share its call.
constexpr std::chrono::milliseconds kMostRenewalWait{20};

/// How long a lease lasts when it is renewed: a worker may take a slice of it for 100 ms (see
/// Slice::kLongest), and the renewal waits for others, and for Redis.
constexpr SteadyTime kRenewedAhead = SteadyTime(120) + kMostRenewalWait;

/// A recall of an id's leases holds for this time, or until its shortest window ends: a node
/// returns them and takes none. Until then all are back, from nodes that are subscribed to
/// `events`.
constexpr SteadyTime kRecallHolds = kReturnsSoon;

/// A lease that is this many times the next one is larger than the node expects to need.
constexpr std::int64_t kLargeLease = 2;

/// The time for which a node leases units: a twentieth of the shortest window without its last
/// second, at least 50 ms, at most TableQuota::lease_time. Also the time constant of
/// QuotaState::arrivals.
std::chrono::milliseconds lease_horizon(const TableQuota& quota);
std::chrono::milliseconds lease_horizon(Period shortest, std::chrono::milliseconds lease_time);

/// The longest time from Redis's grant of a lease until its idle units are back at Redis, if the
/// node can reach Redis.
std::chrono::milliseconds lease_returns_within(const TableQuota& quota);

/// How many steps (see Cost) to lease in addition to an acquire's requests: those that requests are
/// expected to need in each table within the shortest horizon, or until the shortest window ends. 0
/// if these are less than two requests, if a window has none left, if a table has no leases, or if
/// no lease may grant such requests. No more than the node has room for beside its leases (see
/// most_lease). `deciding` requests of the cost are in the arrivals and not part
/// of the estimate, because the acquire decides them. Redis grants at most an eighth of what is
/// left (see Acquire::lease).
std::int64_t lease_size(std::span<const QuotaState> states, const Quotas& quotas, const Cost& cost,
                        std::int64_t deciding, const ClockBounds& now);

/// Whether lease_size() may be above 0 for requests of this cost. Faster.
bool may_lease(const Arrivals& arrivals, std::int64_t cost);

/// How many steps to lease before a request needs them: what lease_size() tells, without those of
/// the lease. 0 if the lease still lasts for kRenewedAhead, or for a quarter of the shortest
/// horizon if that is shorter; if a call that may bring a lease is under way; if the states are not
/// those of the current windows or older than Demand::changed; or if Redis has little left.
std::int64_t renewal_size(std::span<const QuotaState> states, const Quotas& quotas,
                          const Demand& demand, const ClockBounds& now);

/// How long a renewal may wait for others that share its call: a tenth of the shortest horizon, at
/// most kMostRenewalWait.
std::chrono::milliseconds renewal_wait(const Quotas& quotas);

/// Takes the cost from the lease of every table, or from none. Returns false if a lease has less
/// than QuotaCost::room, its window may have ended, or more is counted than the limit; or if Redis
/// has not told for a horizon (see lease_horizon) what it counts in a table that costs nothing: the
/// response shows it.
bool spend_leases(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                  const ClockBounds& now);

/// Whether a recall that was noticed at `recalled` holds; 0: there was none.
bool is_recalled(Period shortest, SteadyTime recalled, const ClockBounds& now);
/// Whether a recall that was noticed at `recalled` holds for at least one of these quotas; 0: there
/// was none.
bool is_recalled(const Quotas& quotas, SteadyTime recalled, const ClockBounds& now);

/// Redis is asked now. Sets QuotaState::asked, and counts the call in QuotaState::lease_calls if it
/// asks for a lease.
void begin_lease_call(QuotaState& state, const TableQuota& quota, bool wants_lease,
                      const ClockBounds& now);

/// Ends the call that begin_lease_call has noted. Removes the call from QuotaState::lease_calls if
/// it has asked for a lease.
void end_lease_call(QuotaState& state, bool wanted_lease);

/// When the lease is to be returned: no request has come for a second, or for `horizon` (see
/// lease_horizon) if it is longer; or Redis has not been asked for twice that time.
SteadyTime idle_at(SteadyTime last_arrival, SteadyTime asked, std::chrono::milliseconds horizon);

/// Adds a lease that Redis counted in the windows `counts`. If the state has other windows by now,
/// the units become units to return instead.
void add_lease(QuotaState& state, const TableQuota& quota, std::span<const WindowCount> counts,
               std::int64_t lease);

/// Turns what the lease has above `most` into units to return, in every window.
void keep_lease(QuotaState& state, const TableQuota& quota, std::int64_t most);

/// Turns the lease into units to return, in every window.
void return_lease(QuotaState& state, const TableQuota& quota);

/// Returns the lease, then sets the windows to those that are current at `now`: see roll and
/// set_window. Sliding windows keep the count of the window before.
void roll_windows(QuotaState& state, const TableQuota& quota, Instant now);

/// Turns all leases into units to return, which the next prepare sends.
void return_leases(std::span<QuotaState> states, const Quotas& quotas);

/// Whether these are the windows that Redis counted last.
bool are_same(const QuotaState& state, std::span<const WindowCount> counts);

}  // namespace tollgate
