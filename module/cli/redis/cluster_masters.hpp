#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/masters.hpp"
#include "module/cli/redis/redis_connection.hpp"
#include "module/cli/redis/redis_url.hpp"
#include "module/redis/topology/server_address.hpp"
#include "module/redis/topology/slot_map.hpp"

namespace tollgate::cli {

/// The masters of a Redis Cluster. Connections are made when they are needed.
class ClusterMasters : public Masters {
  public:
    /// Reads the slot map from one of the servers of the URL.
    explicit ClusterMasters(RedisUrl url);

    Route route(std::optional<std::string_view> key) override;
    std::optional<Route> next_route(const Route& asked, std::optional<std::string_view> key,
                                    const std::string& error, redis::CallRetries& retries) override;

    /// Only if the keys are the same: while a slot migrates, a transaction with two keys of it may
    /// fail until the end of the migration (TRYAGAIN).
    bool may_span(std::string_view key, std::string_view other) const override {
        return key == other;
    }

    std::vector<RedisConnection*> all() override;
    Presence presence_of(const SlotsByMaster& used) override;
    bool reconnect() override;

  private:
    using Address = redis::ServerAddress;

    RedisConnection& connection(const Address& address);
    std::optional<Address> master_of(std::optional<std::string_view> key) const;
    Route route(std::optional<std::string_view> key, redis::CallRetries& retries);
    std::optional<Route> redirected(const Route& asked, const std::string& error, bool asking);
    void require_map();
    std::string refresh();
    std::string read_map_from(const Address& server);
    void retire(const Address& server);

    RedisUrl url_;
    redis::SlotMap map_;
    std::map<Address, std::unique_ptr<RedisConnection>> connections_;
    std::vector<std::unique_ptr<RedisConnection>> retired_;  ///< failed: a Route may point there
};

}  // namespace tollgate::cli
