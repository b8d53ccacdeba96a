#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "module/process/environment.hpp"
#include "module/zone/statistics_registry.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::engine {

struct EndedWorker;

/// A `tollgate_redis` of the configuration.
struct RedisName {
    std::uint32_t hash;     ///< name_hash
    std::string_view name;  ///< must outlive its use
};

/// The place of this worker among the processes of its node, from its start to its end. It recovers
/// what killed workers have left: at its start, and each second, because an old worker that is
/// killed after a reload has no successor.
class WorkerPlace {
  public:
    /// Recovers, and then starts the worker (Zone::start_worker). `zone`, the memory of `registry`
    /// and `environment` must outlive it. Throws std::bad_alloc.
    WorkerPlace(Zone& zone, const StatisticsRegistry& registry, std::vector<RedisName> redis,
                std::span<const ServedTable> tables, const Environment& environment);
    /// What the worker still carries is lost: calls under way end without a reply.
    ~WorkerPlace();
    WorkerPlace(const WorkerPlace&) = delete;
    WorkerPlace& operator=(const WorkerPlace&) = delete;

    /// Calls this when requests in flight of killed workers were forgotten; at once if that was so
    /// when the worker started.
    void on_forgotten_flights(std::function<void()> call);
    /// The number of the worker in the statistics of a Redis. It counts there until it ends.
    std::size_t number() const { return number_; }

  private:
    void run() noexcept;
    void recover();
    std::vector<EndedWorker> ended() const;
    bool has_ended(std::uint32_t process) const;
    void end(const LockedNode& node, std::size_t place) const;

    Zone& zone_;
    StatisticsRegistry registry_;
    std::vector<RedisName> redis_;
    const Clock& clock_;
    Log& log_;
    const WorkerProcess& worker_;
    std::size_t number_ = WorkerPlaces::kMost;
    bool are_forgotten_ = false;  ///< requests, before `on_forgotten_` was known
    std::function<void()> on_forgotten_;
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::engine
