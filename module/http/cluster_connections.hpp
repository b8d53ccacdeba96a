#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "module/gateway/cluster_router.hpp"
#include "module/gateway/engine.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"
#include "module/redis/io/connection.hpp"
#include "module/redis/io/event.hpp"
#include "module/redis/io/management_connection.hpp"
#include "module/redis/io/query.hpp"
#include "module/redis/io/server_addresses.hpp"

namespace tollgate::http {

/// Is notified of a cluster's events.
class ClusterListener {
  public:
    ClusterListener() = default;
    ClusterListener(const ClusterListener&) = delete;
    ClusterListener& operator=(const ClusterListener&) = delete;
    virtual ~ClusterListener() = default;

    /// The configured servers have other addresses than before.
    virtual void on_cluster_servers() noexcept = 0;
    /// The masters have these addresses. Each of them publishes the messages of all.
    virtual void on_cluster_masters(std::vector<redis::SocketAddress> addresses) noexcept = 0;
    /// A connection to a master is established, or its breaker has closed.
    virtual void on_cluster_connected() noexcept = 0;
};

/// The connections of a worker to the servers of a Redis Cluster.
class ClusterConnections final : public gateway::ClusterServers,
                                 private redis::AddressListener,
                                 private redis::QueryOwner {
  public:
    /// All arguments must outlive it. `tls` is nullptr without TLS.
    ClusterConnections(const RedisConf& conf, gateway::Engine& engine, RedisWorkers& workers,
                       redis::TlsPeer* tls, ClusterListener& listener, ngx_log_t* log);
    /// Closes the query. The connections belong to the router, which must be destroyed before.
    ~ClusterConnections() override;
    ClusterConnections(const ClusterConnections&) = delete;
    ClusterConnections& operator=(const ClusterConnections&) = delete;

    /// As Connection::poll, for all connections.
    void poll() noexcept;
    /// The addresses of a server that is connected to, or that has an IP address. Throws
    /// std::bad_alloc.
    redis::AddressList addresses_of(const redis::ServerAddress& server) const;
    /// See RedisTransport.
    std::string probe_key(redis::Slot slot) const;

    std::vector<redis::ServerAddress> configured() const override;
    std::unique_ptr<gateway::ClusterServer> connect(const redis::ServerAddress& address,
                                                    redis::Slot slot) override;
    void read_slot_map(const redis::ServerAddress& address,
                       gateway::SlotMapReader& reader) override;
    void on_masters(std::span<const redis::ServerAddress> masters) noexcept override;
    void on_redirection() noexcept override;

  private:
    class Server;

    void on_addresses() noexcept override { listener_.on_cluster_servers(); }
    void on_reply(const redisReply& reply) noexcept override;
    void on_no_reply(std::string_view reason) noexcept override;
    void deliver() noexcept;
    void count_breakers() const noexcept;
    void report_masters() noexcept;
    void log_name(const std::string& server) noexcept;
    void log_problem(std::string_view problem) noexcept;

    const RedisConf& conf_;
    gateway::Engine& engine_;
    RedisWorkers& workers_;
    redis::TlsPeer* tls_;
    ClusterListener& listener_;
    ngx_log_t* log_;
    redis::ServerAddresses servers_;  ///< those of the configuration
    std::vector<redis::ServerAddress> masters_;
    std::vector<Server*> open_;
    bool is_name_logged_ = false;
    gateway::SlotMapReader* reader_ = nullptr;  ///< while a server is asked for the map
    redis::ServerAddress asked_;                ///< that server
    std::optional<redis::SlotMap> map_;         ///< the answer, for deliver()
    redis::LogThrottle problems_;
    redis::Event answered_;
    std::unique_ptr<redis::Query> query_;
};

}  // namespace tollgate::http
