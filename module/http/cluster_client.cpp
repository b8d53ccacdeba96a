#include "module/http/cluster_client.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tollgate::http {

ClusterClient::ClusterClient(const RedisConf& conf, std::span<const gateway::ServedTable> tables,
                             gateway::Zone& zone, TlsSessionZone* sessions,
                             const RedisCounts& counts, const gateway::Environment& environment,
                             ngx_log_t* log)
    : conf_(conf),
      log_(log),
      engine_(conf.settings, tables, zone, counts.own, *this, environment),
      tls_(conf.endpoint.tls.get(), sessions, counts.own),
      connections_(conf, engine_, counts.workers, tls_.peer(), *this, log),
      router_(conf.settings, connections_, environment, static_cast<std::uint32_t>(ngx_random())),
      feed_(conf.endpoint, masters_, tls_.peer(), engine_, counts.workers, log) {}

void ClusterClient::describe(Status::Redis& redis) const {
    const redis::SlotMap& map = router_.map();
    redis.masters.resize(map.masters().size());
    for (redis::Slot slot = 0; slot < redis::kSlots; ++slot) {
        if (const auto index = map.master_of(slot)) {
            Status::Master& master = redis.masters[*index];
            if (master.slots++ == 0) {
                master.is_reachable = router_.is_reachable(slot);
            }
        }
    }
    for (std::size_t i = 0; i < redis.masters.size(); ++i) {
        redis.masters[i].address = to_text(map.masters()[i]);
    }
    // After MOVED, a master may be left without slots until the next map.
    std::erase_if(redis.masters, [](const Status::Master& master) { return master.slots == 0; });
    if (const auto age = router_.map_age()) {
        redis.map_age = std::chrono::floor<std::chrono::seconds>(*age);
    }
}

std::optional<NamedServer> ClusterClient::master_of(redis::Slot slot) const {
    const redis::SlotMap& map = router_.map();
    const auto index = map.master_of(slot);
    if (!index) {
        return std::nullopt;
    }
    const redis::ServerAddress& master = map.masters()[*index];
    return NamedServer{.name = master, .addresses = connections_.addresses_of(master)};
}

std::optional<Electorate> ClusterClient::electorate() {
    Electorate all{.access = access(), .servers = {}, .master_name = {}};
    for (const redis::ServerAddress& master : router_.map().masters()) {
        all.servers.push_back({.name = master, .addresses = connections_.addresses_of(master)});
    }
    return all;
}

void ClusterClient::on_cluster_masters(std::vector<redis::SocketAddress> addresses) noexcept {
    if (addresses.empty()) {
        return;
    }
    const bool is_new = !std::ranges::all_of(
        addresses, [&](const redis::SocketAddress& address) { return masters_.contains(address); });
    const bool was_known = !masters_.all().empty();
    // Workers begin with different masters: the loss of one does not end all subscriptions.
    const std::size_t first = engine_.worker().number() % addresses.size();
    std::rotate(addresses.begin(), addresses.begin() + static_cast<std::ptrdiff_t>(first),
                addresses.end());
    masters_.replace(std::move(addresses));
    feed_.subscription().follow_addresses();
    if (is_new && was_known) {
        engine_.changes().on_moved();
    }
}

}  // namespace tollgate::http
