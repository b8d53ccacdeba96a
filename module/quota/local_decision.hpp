#pragma once

#include <cstdint>
#include <span>

#include "module/quota/quota_state.hpp"

namespace tollgate {

/// What a node decides by itself; kAsk: Redis must decide.
enum class LocalAnswer { kGranted, kLimited, kBanned, kAsk };

/// Counts `count` requests of this demand: see Arrivals.
void note_arrivals(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                   std::int64_t count, SteadyTime now);

/// Decides a request without Redis if the result is exact. Grants from leases, which Redis has
/// counted. Refuses a banned or exhausted id for one second after Redis was asked, unless a call is
/// under way that may bring a lease: another worker's reply can overtake it. A refusal that
/// is a strike, or may be one, is left to Redis: a ban then begins with the same refusal on any
/// number of nodes.
/// `states` has one state for each table of `quotas`, in the same order, and is updated.
LocalAnswer decide(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                   const ClockBounds& now);

/// Decides a request while Redis is unreachable: continues from Redis's last counts, and records
/// the units that Redis has yet to count (`owed`). Of what was left, it grants this node's share
/// among QuotaState::nodes: see share_of. Never returns kAsk.
LocalAnswer decide_alone(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                         const ClockBounds& now);

/// Whether the id is certainly banned now.
bool is_banned(const QuotaState& first, const Demand& demand, const ClockBounds& now);

}  // namespace tollgate
