#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "module/gateway/engine.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"
#include "module/redis/io/connection.hpp"
#include "module/redis/io/connection_listener.hpp"
#include "module/redis/io/server_addresses.hpp"
#include "module/redis/io/subscription.hpp"

namespace tollgate::http {

/// A worker's connection and subscription to one Redis, as the transport of an engine.
class RedisClient final : public gateway::Transport,
                          private redis::AddressListener,
                          private redis::ConnectionListener,
                          private redis::MessageListener {
  public:
    /// Begins to connect. All arguments must outlive it.
    RedisClient(const RedisConf& conf, std::span<const gateway::ServedTable> tables,
                gateway::Zone& zone, RedisStatistics& statistics,
                const gateway::Environment& environment, ngx_log_t* log);
    /// Closes both. Handlers of calls get no callback.
    ~RedisClient() override;
    RedisClient(const RedisClient&) = delete;
    RedisClient& operator=(const RedisClient&) = delete;

    gateway::Engine& engine() { return engine_; }
    std::chrono::milliseconds timeout() const { return conf_.endpoint.timeout; }

    /// Reads replies that have come while the event loop stalled: for a timer that fires ahead of
    /// them.
    void poll() noexcept { connection_.poll(); }

    bool is_reachable() const noexcept override { return connection_.is_reachable(); }
    void run(redis::Call call, std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
        connection_.run(std::move(call), std::move(handler));
    }
    void refuse(std::string_view error) noexcept override { connection_.refuse(error); }
    std::optional<SteadyTime> subscribed_since() const noexcept override {
        return subscription_.standing_since();
    }

  private:
    void on_addresses() noexcept override;
    void on_message(std::string_view text) noexcept override;
    void on_subscribed(bool is_subscribed) noexcept override;
    void on_answer(std::chrono::microseconds round_trip) noexcept override;
    void on_error() noexcept override;
    void on_connected(bool is_first) noexcept override;
    void on_refusal(std::string_view message) noexcept override;
    void on_moved() noexcept override { subscription_.follow_addresses(); }
    void on_time(ExactSteadyTime sent, ExactSteadyTime received,
                 ExactInstant time) noexcept override;
    void on_breaker_open(std::string_view reason) noexcept override;
    void on_breaker_close() noexcept override;
    void on_shutdown() noexcept override { engine_.shut_down(); }

    RedisStatistics& statistics() const { return engine_.statistics(); }

    const RedisConf& conf_;
    ngx_log_t* log_;
    bool renews_subscription_ = false;  ///< when the next connection is proved to take writes
    gateway::Engine engine_;
    redis::ServerAddresses servers_;
    redis::Connection connection_;
    redis::Subscription subscription_;
};

}  // namespace tollgate::http
