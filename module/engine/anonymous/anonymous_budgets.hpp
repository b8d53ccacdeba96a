#pragma once

#include <cstdint>

#include "module/engine/anonymous/shared_budgets.hpp"
#include "module/engine/engine_context.hpp"
#include "module/key/address_blocks.hpp"
#include "module/plan/plan.hpp"
#include "module/plan/window.hpp"

namespace tollgate::engine {

/// The budgets of addresses for failed authentications: `anonymous`. The plan table that has the
/// budget must outlive the object; nullptr: no table has one. Times are those of the node's own
/// clock.
class AnonymousBudgets {
  public:
    /// The context must outlive it.
    explicit AnonymousBudgets(EngineContext& context) : zone_(context.zone()), shared_(context) {}

    /// Charges `cost` units to the budget of an address. 0 only reads the budget. Returns the
    /// windows afterwards, or none without a budget. Throws std::bad_alloc.
    WindowStates charge(const PlanTable* table, AddressBytes address, std::int64_t cost,
                        Instant now);
    /// Whether a possibly made-up key may be looked up for this address: see
    /// AddressBudgets::admits_lookup. Without a budget, the last such look-ups decide.
    bool admits_lookup(const PlanTable* table, AddressBytes address, Instant now) const;
    /// A look-up that admits_lookup admitted has found no record. With a budget, the request is
    /// charged to it instead.
    void note_unknown(const PlanTable* table, AddressBytes address, Instant now) const;

  private:
    Zone& zone_;
    SharedBudgets shared_;
};

}  // namespace tollgate::engine
