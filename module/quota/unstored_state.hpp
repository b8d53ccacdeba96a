#pragma once

#include "module/quota/quota_state.hpp"

// Units of a quota for which the zone has no place. Another state has them, which a worker keeps.
namespace tollgate {

/// Takes all units out of a state that is not stored: its lease, and what it owes. The result owes
/// them in their windows, and nothing else is in it. They are carried until they are stored (see
/// UnitCounts): if the worker is killed, what it carries is counted as lost.
QuotaState take_unstored(QuotaState& state, const TableQuota& quota);

/// Adds units that take_unstored has taken to another state of the same quota. See owe_again.
void add_unstored(QuotaState& state, const TableQuota& quota, const QuotaState& unstored);

}  // namespace tollgate
