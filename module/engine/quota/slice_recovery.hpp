#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "module/report/statistics.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::engine {

/// The counts of a worker for one `tollgate_redis`.
struct CountsOfRedis {
    std::uint32_t redis;  ///< name_hash
    RedisStatistics& statistics;
};

/// A worker whose process has ended.
struct EndedWorker {
    std::size_t place;  ///< see WorkerPlaces
    std::uint32_t process;
    std::vector<CountsOfRedis> counts;  ///< its own
};

/// Returns the units in the slices of workers that were killed: they become units to return, which
/// the settlement sends to Redis. Drops the records of other workers that have ended: they had no
/// place. Several workers may do this at the same time. Throws std::bad_alloc.
void recover_slices(Zone& zone, std::span<const EndedWorker> ended, const WorkerProcess& worker,
                    SteadyTime now);

}  // namespace tollgate::engine
