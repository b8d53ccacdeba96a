#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "module/http/acquirer.hpp"
#include "module/http/key_lookups.hpp"
#include "module/http/main_conf.hpp"
#include "module/http/zone.hpp"
#include "module/redis/connection.hpp"
#include "module/redis/connection_listener.hpp"
#include "module/redis/subscription.hpp"

namespace tollgate::http {

/// All that a worker has to do with one Redis: the connection, the subscription to changes, and
/// what follows from both for the zone.
class RedisClient : public redis::ConnectionListener, public redis::MessageListener {
  public:
    RedisClient(const MainConf& main, const RedisConf& conf, ngx_log_t* log);
    ~RedisClient() override;
    RedisClient(const RedisClient&) = delete;
    RedisClient& operator=(const RedisClient&) = delete;

    const MainConf& main() const { return main_; }
    const RedisConf& conf() const { return conf_; }
    ngx_log_t* log() const { return log_; }
    RedisStatistics& statistics() const { return *conf_.statistics; }
    redis::Connection& connection() { return connection_; }
    Acquirer& acquirer() { return acquirer_; }
    KeyLookups& key_lookups() { return key_lookups_; }

    /// Redis answered with this error.
    void report(std::string_view message);

    /// The moment of `now` by this Redis's clock, as far as the node knows it.
    Moment moment(const LockedZone& zone, SteadyTime now) const;

    /// How long what was asked at `checked` holds.
    bool is_fresh(SteadyTime checked, SteadyTime now) const;

    /// The place of an id's quota in the zone.
    QuotaStates::Key place_of(const IdHash& id, const TableQuota& quota) const;

    void on_message(std::string_view text) noexcept override;
    void on_subscribed(bool stands) noexcept override;
    void on_answer(std::chrono::microseconds round_trip) noexcept override;
    void on_error() noexcept override;
    void on_reconnect() noexcept override;
    void on_breaker_open(std::string_view reason) noexcept override;
    void on_breaker_close() noexcept override;
    void on_shutdown() noexcept override;

  private:
    const MainConf& main_;
    const RedisConf& conf_;
    ngx_log_t* log_;
    Acquirer acquirer_;
    KeyLookups key_lookups_;
    redis::Connection connection_;
    redis::Subscription subscription_;
};

/// The states of an id's quotas, read from the zone. To be written back under the same lock.
class LoadedStates {
  public:
    LoadedStates(const LockedZone& zone, const RedisClient& client, const IdHash& id,
                 const Quotas& quotas);
    ~LoadedStates() = default;
    LoadedStates(const LoadedStates&) = delete;
    LoadedStates& operator=(const LoadedStates&) = delete;

    operator std::span<QuotaState>() { return states_; }
    operator std::span<const QuotaState>() const { return states_; }
    void save(SteadyTime now);

  private:
    const LockedZone& zone_;
    const RedisClient& client_;
    const IdHash& id_;
    const Quotas& quotas_;
    /// Most locations have one table: that needs no memory of its own.
    QuotaState one_;
    Place place_of_one_;
    std::vector<QuotaState> several_;
    std::vector<Place> places_of_several_;
    std::span<QuotaState> states_;
    std::span<Place> places_;
};

}  // namespace tollgate::http
