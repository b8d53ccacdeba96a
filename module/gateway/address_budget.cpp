#include "module/gateway/address_budget.hpp"

#include "module/text/name_hash.hpp"

namespace tollgate::gateway {

std::vector<WindowState> charge_address(Zone& zone, const PlanTable* table,
                                        const ClientAddress& address, std::int64_t cost,
                                        Instant now) {
    if (table == nullptr) {
        return {};
    }
    auto windows = LockedZone(zone).addresses().charge({name_hash(table->name), address},
                                                       table->anonymous, cost, now);
    for (std::size_t i = 0; i < windows.size(); ++i) {
        windows[i].policy = table->anonymous_policies[i];
    }
    return windows;
}

bool admits_look_up(Zone& zone, const PlanTable* table, const ClientAddress& address, Instant now) {
    return table == nullptr || LockedZone(zone).addresses().admits_look_up(
                                   {name_hash(table->name), address}, table->anonymous, now);
}

}  // namespace tollgate::gateway
