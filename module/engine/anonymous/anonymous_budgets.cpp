#include "module/engine/anonymous/anonymous_budgets.hpp"

#include <algorithm>

#include "module/text/name_hash.hpp"

namespace tollgate::engine {

WindowStates AnonymousBudgets::charge(const PlanTable* table, AddressBytes address,
                                      std::int64_t cost, Instant now) {
    if (table == nullptr) {
        return {};
    }
    const AddressBudgets::Owner owner{name_hash(table->name), client_address(address)};
    auto windows =
        LockedStripe(zone_, owner).addresses().charge(owner, table->anonymous, cost, now);
    if (table->anonymous_is_shared && cost > 0 &&
        std::ranges::none_of(windows, &WindowState::exhausted) &&
        SharedBudgets::is_worth_telling(windows)) {
        shared_.note(*table, owner.address);
    }
    for (std::size_t i = 0; i < windows.size(); ++i) {
        windows[i].table = table->name;
        windows[i].policy = table->anonymous_policies[i];
    }
    return windows;
}

bool AnonymousBudgets::admits_lookup(const PlanTable* table, AddressBytes address,
                                     Instant now) const {
    if (table == nullptr) {
        const auto owner = AddressBudgets::without_budget(client_address(address));
        return LockedStripe(zone_, owner).addresses().admits_lookup(owner, now);
    }
    const AddressBudgets::Owner owner{name_hash(table->name), client_address(address)};
    return LockedStripe(zone_, owner).addresses().admits_lookup(owner, table->anonymous, now);
}

void AnonymousBudgets::note_unknown(const PlanTable* table, AddressBytes address,
                                    Instant now) const {
    if (table == nullptr) {
        const auto owner = AddressBudgets::without_budget(client_address(address));
        LockedStripe(zone_, owner).addresses().note_unknown(owner, now);
    }
}

}  // namespace tollgate::engine
