#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "module/gateway/zone.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"
#include "module/http/redis_transport.hpp"
#include "module/redis/io/master_board.hpp"
#include "module/redis/io/sentinel_directory.hpp"
#include "module/redis/io/tls_peer.hpp"
#include "module/report/statistics.hpp"

namespace tollgate::http {

/// The master of a `tollgate_redis` with `sentinel`, as a worker knows it. The workers share the
/// address in the zone.
class SentinelMaster final : private redis::MasterBoard, private redis::TlsListener {
  public:
    /// Starts to search. All arguments must outlive the object. `tls` is for the master; nullptr
    /// without TLS. `conf` has `sentinel`.
    SentinelMaster(const RedisConf& conf, gateway::Zone& zone, RedisStatistics& statistics,
                   redis::TlsPeer* tls, redis::MasterListener& listener, ngx_log_t* log);
    ~SentinelMaster() override = default;
    SentinelMaster(const SentinelMaster&) = delete;
    SentinelMaster& operator=(const SentinelMaster&) = delete;

    /// See SentinelDirectory.
    const redis::AddressList& addresses() const noexcept { return directory_->master(); }
    void search() noexcept { directory_->search(); }
    /// The server with these addresses, as the Sentinels name it; nothing if none is known.
    const std::optional<redis::ServerAddress>& name() const noexcept { return directory_->name(); }
    /// All Sentinels.
    Electorate electorate() const;

  private:
    News news() noexcept override;
    std::optional<redis::ServerAddress> address() override;
    bool claim(Time now, Time end) noexcept override;
    void take_over(Time end) noexcept override;
    void release() noexcept override;
    void depose(std::uint32_t server, Time until) noexcept override;
    std::uint32_t deposed(Time now) noexcept override;
    void publish(const redis::ServerAddress& master) noexcept override;
    void on_handshake(bool /*is_resumed*/) noexcept override {}
    // Sessions are not kept: a link to a Sentinel is rare.
    void store_session(std::string_view /*session*/) noexcept override {}
    std::string stored_session() override { return {}; }

    /// Calls a function with the SharedMaster, while the node is locked.
    template <typename Function>
    auto with_shared(Function function) const {
        const gateway::LockedNode node(zone_);
        return function(node.sentinel_master(conf_.settings.name_hash));
    }

    const RedisConf& conf_;
    gateway::Zone& zone_;
    RedisStatistics& statistics_;
    ngx_log_t* log_;
    std::unique_ptr<redis::TlsPeer> sentinel_tls_;  ///< nullptr: without TLS
    std::unique_ptr<redis::SentinelDirectory> directory_;
};

/// The address of the master that the workers know, for `tollgate_status`. Nothing if none is
/// known, or without `sentinel`. Throws std::bad_alloc.
std::optional<redis::ServerAddress> known_master(const RedisConf& conf, gateway::Zone& zone);

}  // namespace tollgate::http
