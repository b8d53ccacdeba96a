#pragma once

#include <cstdint>
#include <span>

#include "module/gateway/zone.hpp"
#include "module/report/statistics.hpp"

namespace tollgate::gateway {

/// The counts of a worker for one `tollgate_redis`.
struct CountsOfRedis {
    std::uint32_t redis;  ///< name_hash
    RedisStatistics& statistics;
};

/// Returns the units in the slices of a worker that was killed: they become units to return, which
/// the settlement sends to Redis. `counts` are those of the killed worker, which its successor
/// continues. To be called before Zone::start_worker of the successor. Also drops the records of
/// workers that were killed after they had a successor. Throws std::bad_alloc.
void recover_slices(Zone& zone, std::uint32_t killed, const WorkerProcess& successor,
                    std::span<const CountsOfRedis> counts, SteadyTime now);

}  // namespace tollgate::gateway
