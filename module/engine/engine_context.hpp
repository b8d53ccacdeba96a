#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "module/engine/settings.hpp"
#include "module/key/api_key.hpp"
#include "module/process/environment.hpp"
#include "module/redis/protocol/log_throttle.hpp"
#include "module/redis/topology/transport.hpp"
#include "module/report/statistics.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::engine {

/// What the parts of an engine have in common: the settings of its Redis and the way to it, the
/// zone, the clocks, the log.
class EngineContext : private Pinned {
  public:
    /// All arguments must outlive it.
    EngineContext(const RedisSettings& settings, std::span<const ServedTable> tables, Zone& zone,
                  RedisStatistics& statistics, redis::Transport& transport,
                  const Environment& environment)
        : settings_(settings),
          tables_(tables),
          zone_(zone),
          statistics_(statistics),
          transport_(transport),
          environment_(environment) {}

    const RedisSettings& settings() const { return settings_; }
    /// The plan tables of all Redis.
    std::span<const ServedTable> tables() const { return tables_; }
    /// A plan table of this Redis, by the name_hash of both; nullptr if the configuration of this
    /// worker lacks it. Another Redis may have a table of the same name.
    const PlanTable* table_of(std::uint32_t redis, std::uint32_t table) const;
    Zone& zone() const { return zone_; }
    RedisStatistics& statistics() const { return statistics_; }
    /// What the node knows of its way to Redis. A NodeCall uses it for calls.
    const redis::Transport& transport() const { return transport_; }
    /// Calls a script for an operation on keys: see redis::Transport::run.
    void manage(redis::Slot slot, redis::Call call,
                std::unique_ptr<redis::ReplyHandler> handler) const noexcept {
        call.lane = redis::Lane::kManagement;
        transport_.run(slot, std::move(call), std::move(handler));
    }
    const Clock& clock() const { return environment_.clock; }
    Log& log() const { return environment_.log; }
    const WorkerProcess& worker() const { return environment_.worker; }
    std::unique_ptr<Timer> make_timer(std::function<void()> handler) const {
        return environment_.events.make_timer(std::move(handler));
    }

    /// The steady clock in whole ms, rounded down.
    SteadyTime steady_time() const { return std::chrono::floor<SteadyTime>(clock().steady()); }
    /// The slot of an id's quotas, and of a key's record. 0 unless Redis is a cluster.
    redis::Slot slot_of(std::string_view id) const {
        return settings_.is_cluster ? redis::key_slot(id) : redis::Slot{0};
    }
    redis::Slot slot_of(const KeyDigest& key) const;
    /// The slot of any other key, by its full name.
    redis::Slot slot_of_key(std::string_view key) const {
        return settings_.is_cluster ? redis::key_slot(key) : redis::Slot{0};
    }

    /// Whether a call may succeed. In a cluster, each call finds out whether its own master is
    /// reachable.
    bool may_reach_redis() const { return settings_.is_cluster || transport_.is_reachable(0); }

    /// The number of nodes when Redis was last reachable: see NodeHeartbeat. 1 if it was never
    /// counted.
    std::int64_t nodes() const {
        return std::max<std::int64_t>(zone_.redis(settings_.name_hash).nodes.value(), 1);
    }
    /// The clock of the slot's master.
    RedisClock redis_clock(redis::Slot slot) const {
        return zone_.redis(transport_.master_name(slot)).clock.read();
    }
    /// The bounds of the clock of the slot's master.
    ClockBounds clock_bounds(redis::Slot slot, ExactSteadyTime now) const;
    /// Notes that the clock of the slot's master showed `time` between `sent` and `received`.
    void observe_time(redis::Slot slot, ExactSteadyTime sent, ExactSteadyTime received,
                      ExactInstant time) const;
    /// Notes that the clock of the slot's master showed `time` between `sent` and `received`. The
    /// master may be another server than the one that was observed before: see RedisClock::restart.
    void restart_clock(redis::Slot slot, ExactSteadyTime sent, ExactSteadyTime received,
                       ExactInstant time) const;

    /// The slot's master answered with this error. If it concerns the server, the transport treats
    /// it as a failure. Otherwise, and if the user may not do this, it is logged, once a second at
    /// most.
    void report_error(redis::Slot slot, std::string_view error) noexcept;
    /// Logs what is wrong with the record of a key, once a second at most: each request with the
    /// key may find it.
    void report_record(std::string_view problem) noexcept;
    /// Logs what Redis refuses, and why: `what` ends with a colon and a space.
    void log_refusal(LogLevel level, std::string_view what, std::string_view error) noexcept;

  private:
    friend class NodeCall;

    void log_error(redis::LogThrottle& throttle, std::string_view text) noexcept;

    const RedisSettings& settings_;
    std::span<const ServedTable> tables_;
    Zone& zone_;
    RedisStatistics& statistics_;
    redis::Transport& transport_;
    Environment environment_;
    redis::LogThrottle errors_;
    redis::LogThrottle record_problems_;
};

}  // namespace tollgate::engine
