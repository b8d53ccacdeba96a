#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>

#include "module/gateway/zone.hpp"
#include "module/http/http_block.hpp"
#include "module/http/nginx.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/report/statistics.hpp"
#include "module/store/statistics_registry.hpp"

namespace tollgate::http {

/// Adds the shared memory zone to the configuration. Returns false after logging a message.
bool add_zone(ngx_conf_t* cf, HttpBlock& block);

/// Reads `tollgate_zone SIZE`.
char* read_zone_size(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// The zone in nginx's shared memory. Its lock is the mutex of the slab pool, which nginx unlocks
/// if a worker dies while holding it (ngx_unlock_mutexes).
class SharedMemory final : public gateway::Zone {
  public:
    SharedMemory(ngx_shmtx_t& mutex, gateway::SharedNode& node,
                 std::span<gateway::SharedRedis> redis, std::span<std::byte> statistics,
                 std::span<std::byte> tables)
        : Zone(node, redis, tables), mutex_(mutex), statistics_(statistics) {}

    /// The statistics. Counters need no lock; finding the block of a Redis or plan does.
    StatisticsRegistry statistics() const { return StatisticsRegistry(statistics_); }
    /// How full each table of the zone is.
    std::array<StoreStatistics, kStores.size()> stores();

  private:
    void lock() noexcept override { ngx_shmtx_lock(&mutex_); }
    void unlock() noexcept override { ngx_shmtx_unlock(&mutex_); }

    ngx_shmtx_t& mutex_;
    std::span<std::byte> statistics_;
};

}  // namespace tollgate::http
