#include "module/http/anonymous_budget.hpp"

#include "module/core/client_address.hpp"
#include "module/core/quota_choice.hpp"
#include "module/http/zone.hpp"

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

}  // namespace

std::vector<WindowState> charge_anonymous(ngx_http_request_t* r, const TableSet& tables,
                                          std::int64_t cost, Instant now) {
    const PlanTable* table = tables.anonymous();
    if (table == nullptr) {
        return {};
    }
    auto windows = charge_address(MainConf::of(r), *table, address_of(r), cost, now);
    for (WindowState& window : windows) {
        window.policy = policy_name("anonymous", window.rate.period);
    }
    return windows;
}

Instant node_time() {
    const ngx_time_t* now = ngx_timeofday();
    return Instant(std::chrono::seconds(now->sec) + std::chrono::milliseconds(now->msec));
}

}  // namespace tollgate::http
