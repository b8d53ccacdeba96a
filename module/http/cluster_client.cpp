#include "module/http/cluster_client.hpp"

#include <utility>

namespace tollgate::http {

ClusterClient::ClusterClient(const RedisConf& conf, std::span<const gateway::ServedTable> tables,
                             gateway::Zone& zone, TlsSessionZone* sessions,
                             RedisStatistics& statistics, const gateway::Environment& environment,
                             ngx_log_t* log)
    : conf_(conf),
      engine_(conf.settings, tables, zone, statistics, *this, environment),
      tls_(conf.endpoint.tls.get(), sessions, statistics),
      connections_(conf, engine_, tls_.peer(), *this, log),
      router_(conf.settings, connections_, environment, static_cast<std::uint32_t>(ngx_random())),
      subscribed_(connections_.addresses()),
      feed_(conf.endpoint, subscribed_, tls_.peer(), engine_, log) {}

void ClusterClient::on_cluster_masters(std::vector<redis::SocketAddress> addresses) noexcept {
    if (!addresses.empty()) {
        subscribed_.replace(std::move(addresses));
        feed_.subscription().follow_addresses();
    }
}

}  // namespace tollgate::http
