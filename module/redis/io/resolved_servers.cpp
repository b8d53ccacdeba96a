#include "module/redis/io/resolved_servers.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace tollgate::redis {

ResolvedServers::ResolvedServers(std::vector<Server> servers, const Resolver& resolver,
                                 const std::string& owner, AddressListener& listener,
                                 ngx_log_t* log)
    : servers_(std::move(servers)), listener_(listener), log_(log) {
    for (const auto& [name, addresses] : servers_) {
        const bool is_resolved = addresses.empty() && resolver.resolver != nullptr;
        names_.push_back(is_resolved ? std::make_unique<NameResolution>(
                                           name.host, name.port, resolver, owner,
                                           static_cast<AddressListener&>(*this), log)
                                     : nullptr);
    }
    update();
}

void ResolvedServers::resolve_now() noexcept {
    for (const auto& name : names_) {
        if (name != nullptr) {
            name->resolve_now();
        }
    }
}

void ResolvedServers::on_addresses() noexcept {
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
bool ResolvedServers::update() {
    SocketAddresses all;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        const SocketAddresses& found =
            names_[i] != nullptr ? names_[i]->addresses() : servers_[i].addresses;
        for (const SocketAddress& address : found) {
            if (!contains(all, address)) {
                all.push_back(address);
            }
        }
    }
    if (all == list_) {
        return false;
    }
    list_ = std::move(all);
    return true;
}

}  // namespace tollgate::redis
