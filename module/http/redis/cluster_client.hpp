#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/http/config/main_conf.hpp"
#include "module/http/redis/change_feed.hpp"
#include "module/http/redis/redis_client.hpp"
#include "module/http/redis/redis_tls.hpp"
#include "module/redis/io/event.hpp"
#include "module/redis/io/query.hpp"
#include "module/redis/io/resolved_servers.hpp"
#include "module/redis/topology/cluster_router.hpp"

namespace tollgate::http {

/// A worker's connections to a Redis Cluster.
class ClusterClient final : public RedisClient,
                            private redis::ClusterServers,
                            private redis::AddressListener,
                            private redis::QueryOwner {
  public:
    /// Begins to connect: asks for the slot map. All arguments must outlive it. `sessions` may be
    /// nullptr: TLS sessions are then not resumed.
    ClusterClient(const RedisConf& conf, std::span<const ServedTable> tables, Zone& zone,
                  TlsSessionZone* sessions, const RedisCounts& counts,
                  const Environment& environment, ngx_log_t* log);
    ~ClusterClient() override;
    ClusterClient(const ClusterClient&) = delete;
    ClusterClient& operator=(const ClusterClient&) = delete;

    engine::Engine& engine() override { return engine_; }
    std::chrono::milliseconds timeout() const override { return conf_.link.timeout; }
    void poll() noexcept override;
    void describe(Status::Redis& redis) const override;
    redis::Access access() override { return {conf_.link, tls_.peer(), log_}; }
    std::optional<redis::Server> master_of(redis::Slot slot) const override;
    std::string probe_key(redis::Slot slot) const override;
    std::optional<Electorate> electorate() override;
    void search_masters() noexcept override { router_.request_refresh(); }

  private:
    class Server;

    std::vector<redis::ServerAddress> configured() const override;
    std::unique_ptr<redis::ClusterServer> connect(const redis::ServerAddress& address,
                                                  redis::Slot slot) override;
    void read_slot_map(const redis::ServerAddress& address, redis::SlotMapReader& reader) override;
    void on_masters(std::span<const redis::ServerAddress> masters) noexcept override;
    void on_redirection() noexcept override { engine_.statistics()["redirections"].add(); }

    void on_addresses() noexcept override { router_.servers_changed(); }
    void on_reply(const redisReply& reply) noexcept override;
    void on_no_reply(std::string_view reason) noexcept override;
    void deliver() noexcept;
    redis::SocketAddresses addresses_of(const redis::ServerAddress& server) const;
    void count_breakers() const noexcept;
    void log_name(const std::string& server) noexcept;
    void log_problem(std::string_view problem) noexcept;

    const RedisConf& conf_;
    RedisWorkers& workers_;
    ngx_log_t* log_;
    engine::Engine engine_;
    RedisTls tls_;
    redis::ResolvedServers servers_;  ///< the servers of the configuration
    std::vector<Server*> open_;       ///< the servers of the router
    bool is_name_logged_ = false;
    redis::SlotMapReader* reader_ = nullptr;  ///< while a server is asked for the map
    redis::ServerAddress asked_;              ///< that server
    std::optional<redis::SlotMap> map_;       ///< the answer, for deliver()
    redis::LogThrottle problems_;
    redis::Event answered_;
    std::unique_ptr<redis::Query> query_;
    redis::ClusterRouter router_;        ///< owns connections, which refer to the members above
    redis::SocketAddresses publishers_;  ///< the masters; none until the first slot map
    ChangeFeed feed_;
};

}  // namespace tollgate::http
