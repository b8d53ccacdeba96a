#include "module/http/redis/cluster_server.hpp"

#include <utility>

#include "module/redis/protocol/log_text.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::http {

ClusterClient::Server::Server(ClusterClient& client, const redis::ServerAddress& address,
                              redis::Slot slot)
    : client_(client),
      address_(address),
      text_(to_text(address)),
      name_(name_hash(client.conf_.link.name + " " + text_)),
      addresses_({{address, redis::numeric_address(address)}}, client.conf_.link.resolver,
                 "redis \"" + client.conf_.link.name + "\"", *this, client.log_),
      management_(client.access(), addresses_.list(), client.probe_key(slot), *this),
      connection_(client.access(), addresses_.list(), client.probe_key(slot), *this) {
    client_.open_.push_back(this);
    // The first attempt may have failed while the connection was made.
    client_.count_breakers();
    if (addresses_.list().empty() && client.conf_.link.resolver.resolver == nullptr) {
        client_.log_name(text_);
    }
}

ClusterClient::Server::~Server() {
    std::erase(client_.open_, this);
    client_.count_breakers();
}

void ClusterClient::Server::on_addresses() noexcept {
    connection_.follow_addresses();
    management_.follow_addresses();
    client_.on_masters(client_.router_.map().masters());
}

void ClusterClient::Server::on_connected(bool is_first) noexcept {
    if (!is_first) {
        statistics()["reconnects"].add();
    }
    client_.engine_.publish_plans();
}

void ClusterClient::Server::on_breaker_open(std::string_view reason) noexcept {
    statistics()["breaker_opened"].add();
    client_.count_breakers();
    if (set_unreachable(true)) {
        const redis::LogText shown(reason);
        ngx_str_t text = borrow(shown);
        ngx_log_error(NGX_LOG_ERR, client_.log_, 0,
                      "tollgate: redis \"%s\": server %s is unreachable: %V",
                      client_.conf_.link.name.c_str(), text_.c_str(), &text);
    }
}

void ClusterClient::Server::on_breaker_close() noexcept {
    client_.count_breakers();
    if (set_unreachable(false)) {
        ngx_log_error(NGX_LOG_NOTICE, client_.log_, 0, "tollgate: redis \"%s\": server %s is back",
                      client_.conf_.link.name.c_str(), text_.c_str());
    }
    client_.engine_.publish_plans();
}

/// Each worker has its own breaker; only the first one of the node that changes is logged.
bool ClusterClient::Server::set_unreachable(bool is_unreachable) {
    Zone& zone = client_.engine_.zone();
    SharedRedis& shared = zone.redis(name_);
    const LockedNode node(zone);
    return std::exchange(shared.is_unreachable, is_unreachable) != is_unreachable;
}

}  // namespace tollgate::http
