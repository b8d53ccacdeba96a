#include "module/gateway/address_budget.hpp"

#include "module/text/name_hash.hpp"

namespace tollgate::gateway {

std::vector<WindowState> charge_address(Zone& zone, const PlanTable* table,
                                        const ClientAddress& address, std::int64_t cost,
                                        Instant now) {
    if (table == nullptr) {
        return {};
    }
    const AddressBudgets::Owner owner{name_hash(table->name), address};
    auto windows = LockedStripe(zone, owner).addresses().charge(owner, table->anonymous, cost, now);
    for (std::size_t i = 0; i < windows.size(); ++i) {
        windows[i].policy = table->anonymous_policies[i];
    }
    return windows;
}

bool admits_look_up(Zone& zone, const PlanTable* table, const ClientAddress& address, Instant now) {
    if (table == nullptr) {
        return true;
    }
    const AddressBudgets::Owner owner{name_hash(table->name), address};
    return LockedStripe(zone, owner).addresses().admits_look_up(owner, table->anonymous, now);
}

}  // namespace tollgate::gateway
