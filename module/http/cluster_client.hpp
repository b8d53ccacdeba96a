#pragma once

#include <optional>
#include <span>
#include <vector>

#include "module/gateway/cluster_router.hpp"
#include "module/http/change_feed.hpp"
#include "module/http/cluster_connections.hpp"
#include "module/http/redis_tls.hpp"
#include "module/http/redis_transport.hpp"

namespace tollgate::http {

/// A worker's connections and subscription to a Redis Cluster.
class ClusterClient final : public RedisTransport, private ClusterListener {
  public:
    /// As RedisClient.
    ClusterClient(const RedisConf& conf, std::span<const gateway::ServedTable> tables,
                  gateway::Zone& zone, TlsSessionZone* sessions, const RedisCounts& counts,
                  const gateway::Environment& environment, ngx_log_t* log);
    ~ClusterClient() override = default;
    ClusterClient(const ClusterClient&) = delete;
    ClusterClient& operator=(const ClusterClient&) = delete;

    gateway::Engine& engine() override { return engine_; }
    std::chrono::milliseconds timeout() const override { return conf_.endpoint.timeout; }
    void poll() noexcept override { connections_.poll(); }
    void describe(Status::Redis& redis) const override;
    QueryAccess access() override { return {conf_.endpoint, tls_.peer(), log_}; }
    std::optional<NamedServer> master_of(redis::Slot slot) const override;
    std::string probe_key(redis::Slot slot) const override { return connections_.probe_key(slot); }
    std::optional<Electorate> electorate() override;
    void search_masters() noexcept override { router_.request_refresh(); }

    bool is_reachable(redis::Slot slot) const noexcept override {
        return router_.is_reachable(slot);
    }
    void run(redis::Slot slot, redis::Call call,
             std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
        router_.run(slot, std::move(call), std::move(handler));
    }
    std::uint32_t master_name(redis::Slot slot) const noexcept override {
        return router_.master_name(slot);
    }
    void refuse(redis::Slot slot, std::string_view error) noexcept override {
        router_.refuse(slot, error);
    }

  private:
    void on_cluster_servers() noexcept override { router_.servers_changed(); }
    void on_cluster_masters(std::vector<redis::SocketAddress> addresses) noexcept override;
    void on_cluster_connected() noexcept override { engine_.publish_plans(); }

    const RedisConf& conf_;
    ngx_log_t* log_;
    gateway::Engine engine_;
    RedisTls tls_;
    ClusterConnections connections_;
    gateway::ClusterRouter router_;  ///< owns connections, which refer to the members above
    redis::AddressList masters_;     ///< none until the first slot map
    ChangeFeed feed_;
};

}  // namespace tollgate::http
