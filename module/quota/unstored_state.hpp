#pragma once

#include "module/quota/quota_state.hpp"

// Units of a quota for which the zone has no place. Another state has them, which a worker keeps.
namespace tollgate {

/// Takes all units out of a state that is not stored: its lease, and what it owes. The result owes
/// them in their windows, and nothing else is in it. The worker carries what Redis has to take
/// back; what Redis has to add is not noted before the units are stored. If the worker is killed,
/// the statistics are then right.
QuotaState take_unstored(QuotaState& state, const TableQuota& quota);

/// Adds units that take_unstored has taken to another state of the same quota. See owe_again.
void add_unstored(QuotaState& state, const TableQuota& quota, const QuotaState& unstored);

}  // namespace tollgate
