#pragma once

#include <span>

#include "module/quota/local_decision.hpp"

namespace tollgate {

/// Decides a request while Redis is unreachable: continues from Redis's last counts, and records
/// the units that Redis has yet to count (`owed`). Of what was left, it grants this node's share
/// among QuotaState::nodes: see share_of. Never returns kAsk.
LocalAnswer decide_alone(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                         const ClockBounds& now);

}  // namespace tollgate
