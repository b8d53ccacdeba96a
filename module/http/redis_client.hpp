#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "module/http/acquirer.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/key_lookups.hpp"
#include "module/http/plan_publication.hpp"
#include "module/http/settlement.hpp"
#include "module/http/zone.hpp"
#include "module/redis/io/connection.hpp"
#include "module/redis/io/connection_listener.hpp"
#include "module/redis/io/subscription.hpp"
#include "module/redis/protocol/log_throttle.hpp"

namespace tollgate::http {

/// All that a worker has to do with one Redis: the connection, the subscription to changes, and
/// what follows from both for the zone.
class RedisClient : public redis::ConnectionListener, public redis::MessageListener {
  public:
    RedisClient(const MainConf& main, const RedisConf& conf, ngx_log_t* log);
    ~RedisClient() override = default;
    RedisClient(const RedisClient&) = delete;
    RedisClient& operator=(const RedisClient&) = delete;

    const MainConf& main() const { return main_; }
    const RedisConf& conf() const { return conf_; }
    ngx_log_t* log() const { return log_; }
    RedisStatistics& statistics() const { return *conf_.statistics; }
    redis::Connection& connection() { return connection_; }
    Acquirer& acquirer() { return acquirer_; }
    Settlement& settlement() { return settlement_; }
    KeyLookups& key_lookups() { return key_lookups_; }

    /// Redis answered with this error: gives up the connection where it concerns the server as a
    /// whole, else writes it to the log, at most once a second.
    void report(std::string_view message) noexcept;

    /// The worker ends: its connections count for nothing in the statistics any more.
    void leave_statistics() const noexcept;

    /// The moment of `now` by this Redis's clock, as far as the node knows it.
    Moment moment(const LockedZone& zone, ExactSteadyTime now) const;

    /// How long what was asked at `checked` holds.
    bool is_fresh(SteadyTime checked, SteadyTime now) const;

    void on_message(std::string_view text) noexcept override;
    void on_subscribed(bool stands) noexcept override;
    void on_answer(std::chrono::microseconds round_trip) noexcept override;
    void on_error() noexcept override;
    void on_connected(bool is_first) noexcept override;
    void on_refusal(std::string_view message) noexcept override;
    void on_time(ExactSteadyTime sent, ExactSteadyTime received,
                 ExactInstant time) noexcept override;
    void on_breaker_open(std::string_view reason) noexcept override;
    void on_breaker_close() noexcept override;
    void on_shutdown() noexcept override;

  private:
    const MainConf& main_;
    const RedisConf& conf_;
    ngx_log_t* log_;
    redis::LogThrottle errors_;
    bool renews_subscription_ = false;  ///< when the next connection proves to serve
    Acquirer acquirer_;
    Settlement settlement_;
    KeyLookups key_lookups_;
    PlanPublication plan_publication_;
    redis::Connection connection_;
    redis::Subscription subscription_;
};

}  // namespace tollgate::http
