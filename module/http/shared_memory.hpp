#pragma once

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string_view>

#include "module/http/http_block.hpp"
#include "module/http/nginx.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/report/statistics.hpp"
#include "module/zone/hour_samples.hpp"
#include "module/zone/statistics_registry.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::http {

/// Adds the zones of nginx's shared memory to the configuration: one for the node, and one for each
/// stripe. Returns false after logging a message.
bool add_zones(ngx_conf_t* cf, HttpBlock& block);

/// Adds one zone, whose `data` is the block until nginx calls `init`. Returns false after logging a
/// message. Throws std::bad_alloc.
bool add_zone(ngx_conf_t* cf, HttpBlock& block, std::string_view name, std::size_t size,
              ngx_shm_zone_init_pt init);

/// Reads `tollgate_zone SIZE`.
char* read_zone_size(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// The mutex of a zone's slab pool. nginx unlocks it if a worker dies while holding it
/// (ngx_unlock_mutexes). Therefore each stripe has a zone of its own.
class SlabMutex final : public ZoneMutex {
  public:
    explicit SlabMutex(ngx_shmtx_t& mutex) : mutex_(mutex) {}
    void lock() noexcept override { ngx_shmtx_lock(&mutex_); }
    void unlock() noexcept override { ngx_shmtx_unlock(&mutex_); }

  private:
    ngx_shmtx_t& mutex_;
};

/// The memory that the workers share, as this process maps it.
class SharedMemory {
  public:
    SharedMemory(ngx_shmtx_t& mutex, SharedNode& node, std::span<SharedRedis> redis,
                 std::span<std::byte> statistics, std::span<LatestTimes::Set> changes,
                 HourSamples& hour, std::span<LockStatistics> holds)
        : mutex_(mutex),
          zone_(node, redis, changes, mutex_),
          statistics_(statistics),
          hour_(hour),
          holds_(holds) {}
    ~SharedMemory() = default;
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    /// See Zone::add_stripe.
    void add_stripe(ngx_shmtx_t& mutex, SharedStripe& shared, std::span<std::byte> tables) {
        zone_.add_stripe(shared, tables, mutexes_of_stripes_.emplace_back(mutex));
    }
    Zone& zone() { return zone_; }

    /// A worker of this number has started: counts its holds of locks, if they are measured.
    void start_worker(std::size_t worker) noexcept;

    /// The statistics. Counters need no lock; finding the block of a Redis or plan does: that of
    /// the node.
    StatisticsRegistry statistics() const { return StatisticsRegistry(statistics_); }
    /// The samples of the last hour. The lock of the node protects them.
    HourSamples& hour() const { return hour_; }
    /// How full each kind of table is, over all stripes.
    std::array<StoreStatistics, kStores.size()> stores();
    /// How long all workers hold locks, if that is measured.
    std::optional<LockStatistics> holds() const;

  private:
    SlabMutex mutex_;
    std::deque<SlabMutex> mutexes_of_stripes_;
    Zone zone_;
    std::span<std::byte> statistics_;
    HourSamples& hour_;
    std::span<LockStatistics> holds_;  ///< by worker; empty if they are not measured
};

}  // namespace tollgate::http
