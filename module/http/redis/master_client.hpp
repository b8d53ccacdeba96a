#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "module/http/config/main_conf.hpp"
#include "module/http/redis/change_feed.hpp"
#include "module/http/redis/redis_client.hpp"
#include "module/http/redis/redis_tls.hpp"
#include "module/redis/io/connection.hpp"
#include "module/redis/io/connection_listener.hpp"
#include "module/redis/io/management_connection.hpp"
#include "module/redis/io/resolved_servers.hpp"
#include "module/redis/io/sentinel_directory.hpp"
#include "module/redis/topology/transport.hpp"

namespace tollgate::http {

/// A worker's connections to a Redis with one master: `server` or `sentinel`.
class MasterClient final : public RedisClient,
                           private redis::Transport,
                           private redis::AddressListener,
                           private redis::ConnectionListener,
                           private redis::SentinelClient {
  public:
    /// Begins to connect. All arguments must outlive it. `sessions` may be nullptr: TLS sessions
    /// are then not resumed.
    MasterClient(const RedisConf& conf, std::span<const ServedTable> tables, Zone& zone,
                 TlsSessionZone* sessions, const RedisCounts& counts,
                 const Environment& environment, ngx_log_t* log);
    /// Closes them. Handlers of pending calls are not called.
    ~MasterClient() override;
    MasterClient(const MasterClient&) = delete;
    MasterClient& operator=(const MasterClient&) = delete;

    engine::Engine& engine() override { return engine_; }
    std::chrono::milliseconds timeout() const override { return conf_.link.timeout; }
    void poll() noexcept override {
        connection_.poll();
        management_.poll();
    }
    redis::Access access() override { return {conf_.link, tls_.peer(), log_}; }
    std::optional<redis::Server> master_of(redis::Slot slot) const override;
    std::string probe_key(redis::Slot /*slot*/) const override {
        return conf_.settings.keys.probe();
    }
    std::optional<Electorate> electorate() override;
    void search_masters() noexcept override { search_master(); }

  private:
    bool is_reachable(redis::Slot /*slot*/) const noexcept override {
        return connection_.is_reachable();
    }
    void run(redis::Slot /*slot*/, redis::Call call,
             std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
        run_in_lane(connection_, management_, std::move(call), std::move(handler));
    }
    std::uint32_t master_name(redis::Slot /*slot*/) const noexcept override {
        return conf_.settings.name_hash;
    }
    void report_failure(redis::Slot /*slot*/, std::string_view error) noexcept override {
        connection_.report_failure(error);
    }

    void on_addresses() noexcept override { follow_addresses(); }
    void with_shared_master(const std::function<void(redis::SharedMaster&)>& use) const override;
    void on_master() noexcept override { follow_addresses(); }
    void on_failover() noexcept override { statistics()["failovers"].add(); }
    void on_answer(std::chrono::microseconds round_trip) noexcept override;
    void on_error() noexcept override;
    void on_connected(bool is_first) noexcept override;
    void on_lost() noexcept override { search_master(); }
    void on_refusal(std::string_view message) noexcept override;
    void on_moved() noexcept override;
    void on_time(ExactSteadyTime sent, ExactSteadyTime received,
                 ExactInstant time) noexcept override;
    void on_breaker_open(std::string_view reason) noexcept override;
    void on_breaker_close() noexcept override;

    RedisStatistics& statistics() const { return engine_.statistics(); }
    redis::Access sentinel_access() {
        return {conf_.sentinel.group->link, sentinel_tls_ ? &*sentinel_tls_ : nullptr, log_};
    }
    std::unique_ptr<redis::SentinelDirectory> make_sentinels();
    void search_master() noexcept;
    void follow_addresses() noexcept;
    const redis::SocketAddresses& addresses() const {
        return sentinels_ != nullptr ? sentinels_->addresses() : servers_.list();
    }

    const RedisConf& conf_;
    RedisWorkers& workers_;
    ngx_log_t* log_;
    /// When the node's subscription became doubtful. It is renewed once a connection accepts writes
    /// again.
    std::optional<SteadyTime> renews_subscription_;
    bool has_master_ = false;  ///< a connection has accepted writes
    engine::Engine engine_;
    redis::ResolvedServers servers_;  ///< none with `sentinel`
    RedisTls tls_;
    redis::TlsListener no_sessions_;  ///< a link to a Sentinel is rare
    std::optional<redis::TlsPeer> sentinel_tls_;
    std::unique_ptr<redis::SentinelDirectory> sentinels_;  ///< nullptr: without `sentinel`
    redis::ManagementConnection management_;
    redis::Connection connection_;  ///< its constructor may connect, and then runs calls
    ChangeFeed feed_;
};

}  // namespace tollgate::http
