#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "module/key/digest.hpp"
#include "t/unit/engine/fleet_settings.hpp"
#include "t/unit/engine/ledger.hpp"
#include "t/unit/engine/scenario.hpp"
#include "t/unit/engine/simulated_cluster.hpp"

namespace tollgate::engine {

/// The Redis of a fleet: one master, perhaps with a replica that replaces it, or a cluster.
class FleetServers {
  public:
    /// All arguments must outlive it.
    FleetServers(Timeline& timeline, const Scenario& scenario, const FleetSettings& settings)
        : timeline_(timeline),
          scenario_(scenario),
          settings_(settings),
          cluster_(timeline, std::max(scenario.masters, 1)) {
        for (int key = 0; key < scenario.keys; ++key) {
            const auto id = id_of(key);
            const KeyRecord record{
                .id = id, .name = {}, .plan = "free", .limits = {}, .expires = {}, .active = true};
            for (SimulatedServer& server : cluster_.servers) {
                server.redis.records[settings.redis.keys.key(hex(sha256(id)))] = record;
            }
        }
        schedule_faults();
    }

    SimulatedCluster& cluster() { return cluster_; }
    const SimulatedCluster& cluster() const { return cluster_; }
    /// The master, if Redis is not a cluster: after a failover, the new one.
    SimulatedServer& master() { return has_failed_over_ ? successor_ : cluster_.servers.front(); }
    /// How far the clock of the master is ahead.
    const Milliseconds& clock() const { return cluster_.servers.front().clock; }
    Instant time() const {
        return std::chrono::floor<Milliseconds>(scenario_.beginning + timeline_.now() + clock());
    }
    /// The count of the window of this rate.
    const WindowCount& count(int key, const Rate& rate) {
        TableQuota quota;
        quota.table = settings_.table.name;
        const auto id = id_of(key);
        SimulatedServer& server = has_failed_over_ ? successor_ : cluster_.server_of(id);
        return server.redis.counts.count(id, quota, rate);
    }

    /// See RedisModel::history.
    std::map<std::int64_t, std::int64_t> history(int key) {
        TableQuota quota;
        quota.table = settings_.table.name;
        const auto id = id_of(key);
        SimulatedServer& server = has_failed_over_ ? successor_ : cluster_.server_of(id);
        return server.redis.counts.history(id, quota);
    }

    /// The replica becomes the master.
    void fail_over() {
        if (!std::exchange(has_failed_over_, true)) {
            cluster_.servers.front().clock += scenario_.failover.clock;
        }
    }
    /// Whether the new master lacks what a node's master counts now.
    bool is_lost(bool is_minority) const {
        const Failover& failover = scenario_.failover;
        const bool is_with_old_master =
            is_minority && timeline_.now() < failover.at + failover.detected;
        return !is_replicating_ && (!has_failed_over_ || is_with_old_master);
    }

  private:
    void schedule_faults() {
        timeline_.at(scenario_.duration / 2,
                     [this] { cluster_.servers.front().clock += scenario_.jump; });
        if (const Failover& failover = scenario_.failover; failover.at > Milliseconds(0)) {
            timeline_.at(failover.at - failover.lag, [this] {
                is_replicating_ = false;
                successor_ = cluster_.servers.front();
            });
        }
        for (int i = 0; i < scenario_.moves.slots; ++i) {
            timeline_.at(scenario_.moves.from + i * scenario_.moves.every, [this, i] {
                cluster_.move_slot(id_of(i % scenario_.keys), scenario_.moves.lasting);
            });
        }
    }

    Timeline& timeline_;
    const Scenario& scenario_;
    const FleetSettings& settings_;
    SimulatedCluster cluster_;
    SimulatedServer successor_{};  ///< the replica, as it becomes the master
    bool is_replicating_ = true;
    bool has_failed_over_ = false;
};

}  // namespace tollgate::engine
