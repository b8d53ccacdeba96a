#pragma once

#include <chrono>

#include "module/management/admin/idempotent_request.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/stored_key.hpp"

namespace tollgate::management {

// A rotation whose response was lost is repeated: which key may the repetition replace? A key in
// use must not end. Uses are recorded late, to the minute, and not at all while a node does not
// reach Redis, so it is not enough that none is recorded.

/// The time from a use of a key until its node has recorded it: see gateway::KeyUses. It may be
/// longer at a node with more than 256 keys in a second.
inline constexpr std::chrono::milliseconds kUseDelay{2000};

/// Whether the current key of an id was made by this request and may be replaced as far as is
/// recorded: no use is, or this request has ended the key already. `keys` have their last uses.
bool is_unused(const IdempotentRequest& idempotent, const KeysOfId& keys,
               std::chrono::sys_seconds now);

/// Whether uses are recorded: those of the caller's keys are, to which its request belongs that
/// arrived at this time by Redis's clock. Call it kUseDelay later. Throws OperationError.
Task<bool> records_uses(const ResourceRequest& request, std::chrono::sys_seconds arrival);

}  // namespace tollgate::management
