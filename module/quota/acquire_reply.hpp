#pragma once

#include <cstdint>
#include <span>

#include "module/quota/owed_units.hpp"

namespace tollgate {

/// Takes Redis's counts and lease from a reply, and acknowledges the reports that the acquire
/// carried. A reply that is older than the state's counts adds its lease only. A window that began
/// after Redis decided, and in which the node has granted requests alone, stays. `now` is the time
/// by Redis's clock, as far as this reply and others tell.
void apply_reply(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                 const Acquired& acquired, const ClockBounds& now);

/// The windows that the response to a request shows that Redis refused: those of the decision, also
/// if the states have later ones. Call it after apply_reply.
WindowStates refused_windows(std::span<const QuotaState> states, const Quotas& quotas,
                             const Acquired& acquired, const ClockBounds& now, const Cost& cost);

/// Keeps the units of so many requests that Redis granted and that have ended meanwhile. They
/// become part of the lease; if the table has no leases they are returned. Call it after
/// apply_reply.
void keep_unused(std::span<QuotaState> states, const Quotas& quotas, const Acquired& acquired,
                 std::int64_t requests, const Cost& cost);

/// The reply to an acquire whose requests nobody waits for any more: it came too late. Redis has
/// applied the adjustments. What it has granted and leased is returned to the windows that counted
/// it, in a report. The counts are too old to be of use.
void apply_late_reply(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                      const Acquired& acquired);

}  // namespace tollgate
