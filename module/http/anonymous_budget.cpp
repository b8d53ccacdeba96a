#include "module/http/anonymous_budget.hpp"

#include "module/http/zone.hpp"
#include "module/quota/client_address.hpp"

namespace tollgate::http {

namespace {

ClientAddress address_of(const ngx_http_request_t* r) {
    const sockaddr* address = r->connection->sockaddr;
    if (address->sa_family == AF_INET) {
        const auto& ip = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
        return client_address({reinterpret_cast<const unsigned char*>(&ip), sizeof(ip)});
    }
    if (address->sa_family == AF_INET6) {
        const auto& ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        return client_address({reinterpret_cast<const unsigned char*>(&ip), sizeof(ip)});
    }
    return {};
}

AddressBudgets::Owner owner_of(const ngx_http_request_t* r, const PlanTable& table) {
    return {name_hash(table.name), address_of(r)};
}

}  // namespace

std::vector<WindowState> charge_anonymous(ngx_http_request_t* r, const TableSet& tables,
                                          std::int64_t cost, Instant now) {
    const PlanTable* table = tables.anonymous();
    if (table == nullptr) {
        return {};
    }
    auto windows = LockedZone(MainConf::of(r))
                       .addresses()
                       .charge(owner_of(r, *table), table->anonymous, cost, now);
    for (std::size_t i = 0; i < windows.size(); ++i) {
        windows[i].policy = table->anonymous_policies[i];
    }
    return windows;
}

bool admits_look_up(ngx_http_request_t* r, const TableSet& tables, Instant now) {
    const PlanTable* table = tables.anonymous();
    return table == nullptr || LockedZone(MainConf::of(r))
                                   .addresses()
                                   .admits_look_up(owner_of(r, *table), table->anonymous, now);
}

}  // namespace tollgate::http
