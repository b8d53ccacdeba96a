#pragma once

#include <vector>

#include "module/gateway/zone.hpp"
#include "module/quota/client_address.hpp"
#include "module/quota/plan.hpp"
#include "module/quota/window.hpp"

namespace tollgate::gateway {

/// Charges `cost` to the budget of an address for failed authentications, `anonymous` in `table`; 0
/// only reads the budget. A `table` of nullptr means that there is no budget. `now` is the node's
/// own clock. Returns the windows afterwards, or none without a budget.
std::vector<WindowState> charge_address(Zone& zone, const PlanTable* table,
                                        const ClientAddress& address, std::int64_t cost,
                                        Instant now);

/// Whether a possibly made-up key may be looked up for this address: see
/// AddressBudgets::admits_look_up. Always true without a budget.
bool admits_look_up(Zone& zone, const PlanTable* table, const ClientAddress& address, Instant now);

}  // namespace tollgate::gateway
