#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>

#include "module/http/config/main_conf.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/report/statistics.hpp"
#include "module/store/statistics_registry.hpp"
#include "module/store/zone_layout.hpp"

namespace tollgate::http {

/// Adds the shared memory zone to the configuration. False after a message.
bool add_zone(ngx_conf_t* cf, MainConf& conf);

/// Reads `tollgate_zone SIZE`.
char* read_zone_size(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// What the workers of a node share of a Redis.
struct SharedRedis {
    std::uint32_t name;  ///< see name_hash; 0: free
    RedisClock clock;
    SteadyTime settled;  ///< when a worker last looked for quotas to settle
};

/// What the workers of a node share whatever the Redis is.
struct SharedNode {
    std::uint64_t id;           ///< random: names the reports of this zone to Redis
    std::uint64_t last_report;  ///< see prepare
    WorkerSet workers;          ///< those that serve requests and are not shutting down
};

/// A process's view of what lies in the zone.
struct ZoneView {
    SharedNode& node;
    std::span<SharedRedis> redis;
    std::span<std::byte> statistics;
    ZoneTables tables;
};

/// The zone's contents, and its lock for as long as this lives: the mutex of the slab pool, which
/// is the one that nginx frees when a worker dies with it (ngx_unlock_mutexes).
class LockedZone {
  public:
    explicit LockedZone(const MainConf& conf) noexcept;
    ~LockedZone() { ngx_shmtx_unlock(mutex_); }
    LockedZone(const LockedZone&) = delete;
    LockedZone& operator=(const LockedZone&) = delete;

    KeyCache& keys() const { return view_.tables.keys; }
    QuotaCache& quotas() const { return view_.tables.quotas; }
    Changes& changes() const { return view_.tables.changes; }
    AddressBudgets& addresses() const { return view_.tables.addresses; }

    SharedNode& node() const { return view_.node; }

    /// Of the Redis of this name_hash; the same for all of them where there are more than there are
    /// places.
    SharedRedis& redis(std::uint32_t name) const;

  private:
    ngx_shmtx_t* mutex_;
    ZoneView& view_;
};

/// The name of this zone's reports in Redis: 16 hexadecimal digits.
std::string report_node(const MainConf& conf);

/// The statistics; to be read with no lock.
StatisticsRegistry statistics_in(const MainConf& conf);
/// How full each table of the zone is.
std::array<StoreStatistics, kStores.size()> stores_in(const MainConf& conf);
/// The statistics under the zone's lock.
void with_statistics(const MainConf& conf,
                     const std::function<void(const StatisticsRegistry&)>& use);

}  // namespace tollgate::http
