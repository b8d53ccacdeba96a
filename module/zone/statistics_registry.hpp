#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "module/report/statistics.hpp"
#include "module/report/status.hpp"
#include "module/zone/worker_counts.hpp"

namespace tollgate {

/// The statistics of a node, in memory that workers share. Each worker has a block for each Redis
/// and for each plan: see WorkerCounts. A worker finds its blocks by name once, when it starts, and
/// then counts through pointers. A reader adds up the blocks of all workers. A reload keeps the
/// counts of everything that keeps its name, also with fewer workers. Memory of zeros is an empty
/// registry.
class StatisticsRegistry {
    struct alignas(kCacheLine) Header {
        NodeStatistics node;
        std::uint32_t redis_made;
        std::uint32_t redis_blocks_made;
        std::uint32_t requests_made;
        std::uint32_t requests_blocks_made;
    };
    struct SharedRedisBlock {
        RedisStatistics counts;
        RedisWorkers workers;
    };
    struct SharedRequestsBlock {
        RequestStatistics counts;
    };
    using Redis = WorkerCounts<SharedRedisBlock>;
    using Requests = WorkerCounts<SharedRequestsBlock>;
    struct Parts;

  public:
    /// The name of the shared block.
    static constexpr std::string_view kOthers = "(other)";

    /// Room for one Redis and one plan, and for the shared blocks.
    static constexpr std::size_t kLeastMemory =
        sizeof(Header) + 2 * sizeof(Redis::Names::Block) + 2 * sizeof(Requests::Names::Block);

    /// A view of shared memory, aligned to kCacheLine bytes. Throws std::length_error if it has
    /// less than kLeastMemory bytes.
    explicit StatisticsRegistry(std::span<std::byte> memory);

    /// Where the worker at this place (see WorkerPlaces) counts for a Redis, and the worker of this
    /// number (`ngx_worker`) for a plan in a set of tables (see Status). The caller holds the lock
    /// of the zone's node; counting needs no lock.
    RedisCounts redis(std::string_view name, std::size_t place) const;
    RequestStatistics& requests(std::string_view tables, std::string_view plan,
                                std::size_t worker) const;

    /// The worker at this place has ended: counts the units that it carried as lost, unless it
    /// shared its counts with others. To be called before another one takes the place.
    void lose_carried(std::size_t place) const;

    NodeStatistics& node() const { return header_->node; }

    /// Copies the counts of all workers into a status; needs no lock.
    void copy_to(Status& status) const;

  private:
    explicit StatisticsRegistry(const Parts& parts);

    Header* header_;
    Redis redis_;
    Requests requests_;
};

}  // namespace tollgate
