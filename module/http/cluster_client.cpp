#include "module/http/cluster_client.hpp"

#include <utility>

namespace tollgate::http {

ClusterClient::ClusterClient(const RedisConf& conf, std::span<const gateway::ServedTable> tables,
                             gateway::Zone& zone, TlsSessionZone* sessions,
                             const RedisCounts& counts, const gateway::Environment& environment,
                             ngx_log_t* log)
    : conf_(conf),
      engine_(conf.settings, tables, zone, counts.own, *this, environment),
      tls_(conf.endpoint.tls.get(), sessions, counts.own),
      connections_(conf, engine_, counts.workers, tls_.peer(), *this, log),
      router_(conf.settings, connections_, environment, static_cast<std::uint32_t>(ngx_random())),
      subscribed_(connections_.addresses()),
      feed_(conf.endpoint, subscribed_, tls_.peer(), engine_, counts.workers, log) {}

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

void ClusterClient::on_cluster_masters(std::vector<redis::SocketAddress> addresses) noexcept {
    if (!addresses.empty()) {
        subscribed_.replace(std::move(addresses));
        feed_.subscription().follow_addresses();
    }
}

}  // namespace tollgate::http
