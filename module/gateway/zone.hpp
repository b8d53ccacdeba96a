#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "module/quota/redis_clock.hpp"
#include "module/redis/topology/shared_master.hpp"
#include "module/report/counter.hpp"
#include "module/store/zone_layout.hpp"

namespace tollgate::gateway {

/// What the workers of a node share about one master of a Redis. Plain memory, all zeros at first.
struct SharedRedis {
    std::uint32_t name;  ///< Transport::master_name; 0: free
    RedisClock clock;
    SteadyTime settled;        ///< when a worker last looked for quotas to settle
    SteadyTime heartbeat_due;  ///< see NodeHeartbeat; of the `tollgate_redis`, like the next two
    SteadyTime nodes_counted;  ///< when Redis last counted the nodes
    SteadyTime fewer_nodes_since;  ///< when Redis began to count fewer than `nodes`; 0: it does not
    std::uint32_t nodes;           ///< that share it; 0: never counted
    bool is_unreachable;           ///< of a cluster's server: the log says so
};

/// What the workers of a node share about a Redis with `sentinel`. Plain memory, all zeros at
/// first.
struct SharedSentinels {
    std::uint32_t name;  ///< name_hash of the `tollgate_redis`; 0: free
    redis::SharedMaster master;
};

/// What the workers of a node share about no particular Redis. Plain memory, all zeros at first.
struct SharedNode {
    std::uint64_t id;           ///< random; names the node's reports in Redis
    std::uint64_t last_report;  ///< see prepare
    WorkerSet workers;          ///< workers that serve requests and are not shutting down
    std::array<SharedSentinels, 16> sentinels;
};

/// The shared memory of a node, as this process maps it, and its lock.
class Zone {
  public:
    Zone(SharedNode& node, std::span<SharedRedis> redis, std::span<std::byte> tables)
        : node_(node), redis_(redis), tables_(tables) {}
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;
    virtual ~Zone() = default;

    /// The workers that serve this zone. Needs no lock.
    WorkerSet& workers() const { return node_.workers; }
    /// The node's name in Redis keys: 16 hexadecimal digits.
    std::string node_name() const;

  private:
    friend class LockedZone;
    virtual void lock() noexcept = 0;
    virtual void unlock() noexcept = 0;

    SharedNode& node_;
    std::span<SharedRedis> redis_;
    ZoneTables tables_;
};

/// Holds the zone's lock, and gives access to what it protects.
class LockedZone {
  public:
    explicit LockedZone(Zone& zone) noexcept : zone_(zone) { zone_.lock(); }
    ~LockedZone() { zone_.unlock(); }
    LockedZone(const LockedZone&) = delete;
    LockedZone& operator=(const LockedZone&) = delete;

    KeyCache& keys() const { return zone_.tables_.keys; }
    QuotaCache& quotas() const { return zone_.tables_.quotas; }
    Changes& changes() const { return zone_.tables_.changes; }
    AddressBudgets& addresses() const { return zone_.tables_.addresses; }
    SharedNode& node() const { return zone_.node_; }

    /// The entry of this name: name_hash of a `tollgate_redis`, or Transport::master_name. If all
    /// entries are taken, further names share the last one.
    SharedRedis& redis(std::uint32_t name) const;
    /// The same of a Redis with `sentinel`.
    redis::SharedMaster& sentinel_master(std::uint32_t name) const;

  private:
    Zone& zone_;
};

}  // namespace tollgate::gateway
