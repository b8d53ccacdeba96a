#include "module/redis/io/server_addresses.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace tollgate::redis {

ServerAddresses::ServerAddresses(const std::vector<Server>& servers, const Resolver& resolver,
                                 const std::string& owner, AddressListener& listener,
                                 ngx_log_t* log)
    : servers_(servers), listener_(listener), log_(log) {
    for (const Server& server : servers) {
        names_.push_back(server.host.empty() ? nullptr
                                             : std::make_unique<NameResolution>(
                                                   server.host, server.port, resolver, owner,
                                                   static_cast<AddressListener&>(*this), log));
    }
    update();
}

void ServerAddresses::resolve_now() noexcept {
    for (const auto& name : names_) {
        if (name != nullptr) {
            name->resolve_now();
        }
    }
}

void ServerAddresses::on_addresses() noexcept {
    const auto is_untried = [](const auto& name) { return name != nullptr && !name->is_tried(); };
    if (std::ranges::any_of(names_, is_untried)) {
        return;
    }
    try {
        if (!update()) {
            return;
        }
    } catch (const std::exception& e) {
        ngx_log_error(NGX_LOG_CRIT, log_, 0, "tollgate: new addresses are not used: %s", e.what());
        return;
    }
    listener_.on_addresses();
}

/// Returns whether the list has changed.
bool ServerAddresses::update() {
    std::vector<SocketAddress> all;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        const auto found =
            names_[i] != nullptr ? names_[i]->addresses() : std::span(servers_[i].addresses);
        for (const SocketAddress& address : found) {
            if (std::ranges::find(all, address) == all.end()) {
                all.push_back(address);
            }
        }
    }
    if (std::ranges::equal(all, list_.all())) {
        return false;
    }
    list_.replace(std::move(all));
    return true;
}

}  // namespace tollgate::redis
