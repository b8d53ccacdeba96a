#pragma once

#include <vector>

#include "module/gateway/zone.hpp"
#include "module/quota/client_address.hpp"
#include "module/quota/plan.hpp"
#include "module/quota/window.hpp"

namespace tollgate::gateway {

/// Takes `cost` (0: only looks) from what an address may spend on failed authentications: the
/// `anonymous` budget of `table`, or none if that is nullptr. `now` is the node's own clock.
/// Returns the windows afterwards; none without a budget.
std::vector<WindowState> charge_address(Zone& zone, const PlanTable* table,
                                        const ClientAddress& address, std::int64_t cost,
                                        Instant now);

/// Whether a key that may be made up may be looked up for this address: see
/// AddressBudgets::admits_look_up. Always true without a budget.
bool admits_look_up(Zone& zone, const PlanTable* table, const ClientAddress& address, Instant now);

}  // namespace tollgate::gateway
