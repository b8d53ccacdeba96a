#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "module/key/field_substitute.hpp"
#include "module/plan/table_quota.hpp"
#include "module/process/environment.hpp"
#include "module/quota/shared_clock.hpp"
#include "module/redis/topology/shared_master.hpp"
#include "module/report/counter.hpp"
#include "module/zone/changes.hpp"
#include "module/zone/recalls.hpp"
#include "module/zone/shared_subscription.hpp"
#include "module/zone/stripe_layout.hpp"
#include "module/zone/table_workers.hpp"
#include "module/zone/worker_places.hpp"
#include "module/zone/zone_lock.hpp"

namespace tollgate {

/// What the workers of a node share about one master of a Redis. Plain memory, all zeros at first.
/// The lock of the node protects it. Reading `name`, `nodes` and `clock` needs no lock.
struct SharedRedis {
    SharedNumber<std::uint32_t> name;   ///< Transport::master_name; 0: free
    SharedNumber<std::uint32_t> nodes;  ///< see NodeHeartbeat; 0: never counted
    SharedClock clock;
    SteadyTime settled;        ///< when a worker last looked for quotas to settle
    SteadyTime pass_began;     ///< when it began with the first of them
    SteadyTime heartbeat_due;  ///< see NodeHeartbeat; of the `tollgate_redis`, like the next two
    SteadyTime nodes_counted;  ///< when Redis last counted the nodes
    SteadyTime fewer_nodes_since;  ///< when Redis began to count fewer than `nodes`; 0: it does not
    bool is_unreachable;           ///< of a cluster's server: the log says so
    /// In ms of the steady clock: changes of records that were looked up by then may have been
    /// missed. Of the `tollgate_redis`. Reading it needs no lock.
    SharedNumber<std::int64_t> forgotten_until;
    SharedSubscription subscription;  ///< of the `tollgate_redis`
};

/// What the workers of a node share about a Redis with `sentinel`. Plain memory, all zeros at
/// first.
struct SharedSentinels {
    SharedNumber<std::uint32_t> name;  ///< name_hash of the `tollgate_redis`; 0: free
    redis::SharedMaster master;
};

/// What the workers of a node share about no particular Redis. Plain memory, all zeros at first.
struct SharedNode {
    Recalls::Memory recalls;
    std::uint64_t id;                       ///< random; names the node's reports in Redis
    SharedNumber<std::uint64_t> last_call;  ///< see Zone::number_call
    std::array<SharedSentinels, 16> sentinels;
    WorkerSet workers;  ///< workers that serve requests and are not shutting down
    WorkerPlaces places;
    TableWorkers table_workers;
    FieldSecret secret;  ///< random; see field_secret
};

/// What belongs to a stripe besides its tables. Plain memory, all zeros at first.
struct SharedStripe {
    /// See prepare. Redis compares the numbers of one quota, which stays in its stripe.
    std::uint64_t last_report;
};

/// One of the stripes of a zone.
enum class StripeNumber : std::size_t {};

/// The shared memory of a node, as this process maps it. Keys, quotas and addresses are divided
/// among stripes by their hash. Each stripe has a lock of its own, and so has the rest, the node:
/// workers seldom wait for each other. A worker that holds one lock never waits for another.
class Zone : private Pinned {
  public:
    /// A zone without stripes. All arguments must outlive it. Throws std::length_error if `changes`
    /// has fewer than two sets.
    Zone(SharedNode& node, std::span<SharedRedis> redis, std::span<LatestTimes::Set> changes,
         ZoneMutex& mutex)
        : node_(node), redis_(redis), changes_(changes), recalls_(node.recalls), mutex_(mutex) {}

    /// Adds a stripe with this memory; see StripeTables. Each process adds the same stripes before
    /// it uses the zone.
    void add_stripe(SharedStripe& shared, std::span<std::byte> tables, ZoneMutex& mutex) {
        stripes_.push_back(std::make_unique<Stripe>(shared, tables, mutex));
    }
    std::size_t stripes() const { return stripes_.size(); }

    /// The stripe of a key's record.
    StripeNumber stripe_of(const KeyCache::Key& key) const { return stripe_of_key(key.hash()); }
    /// The stripe of the record of the key with this KeyCache::Key::hash.
    StripeNumber stripe_of_key(std::uint64_t hash) const {
        // The lowest bits choose no set of a table.
        return at(hash);
    }
    /// The stripe of an id's quotas.
    StripeNumber stripe_of(const IdHash& id) const;
    /// The stripe of an address's budget.
    StripeNumber stripe_of(const AddressBudgets::Owner& owner) const {
        return stripe_of_key(owner.hash());
    }

    /// The caller will soon lock the stripe of this id and load its quota: see
    /// QuotaCache::prefetch.
    void prefetch_quota(const IdHash& id, TablePosition place) const {
        stripes_[static_cast<std::size_t>(stripe_of(id))]->tables.quotas.prefetch(place);
    }

    /// This worker begins to serve requests with these tables. Returns its place among the
    /// processes of the node: see WorkerPlaces. Locks the node.
    std::size_t start_worker(const WorkerProcess& worker, std::span<const ServedTable> tables);
    /// The workers that serve this zone. Needs no lock.
    WorkerSet& workers() const { return node_.workers; }
    /// When a change of a key or its id was last noticed; 0: never. A record that is not newer has
    /// to be looked up again. Needs no lock.
    SteadyTime last_change(std::uint32_t redis, const KeyDigest& key, const IdHash& id) const {
        return std::max(last_change(redis, key), last_change(redis, id));
    }
    SteadyTime last_change(std::uint32_t redis, const KeyDigest& key) const {
        return changes_.last(redis, key);
    }
    SteadyTime last_change(std::uint32_t redis, const IdHash& id) const {
        return changes_.last(redis, id);
    }
    SteadyTime last_made_change(std::uint32_t redis, const KeyDigest& key) const {
        return changes_.last_made(redis, key);
    }
    /// last_change() of the key with this KeyCache::Key::hash.
    SteadyTime last_change_of(std::uint64_t key_hash) const { return changes_.last(key_hash); }
    /// When a key or its id was last changed; 0: never. A record that is not newer is outdated.
    /// Needs no lock.
    SteadyTime last_made_change(std::uint32_t redis, const KeyDigest& key, const IdHash& id) const {
        return std::max(changes_.last_made(redis, key), changes_.last_made(redis, id));
    }
    /// The last recall of leases of any id in this Redis. Needs no lock.
    SteadyTime last_recall(std::uint32_t redis) const { return recalls_.last(redis); }
    /// The last recall of leases of an id or of this value: see Recalls::last. Needs no lock.
    SteadyTime last_recall(std::uint32_t redis, const IdHash& id, std::uint64_t value) const {
        const SteadyTime of_id = recalls_.last(redis, id, 0);
        return value == 0 ? of_id : std::max(of_id, recalls_.last(redis, id, value));
    }
    /// The last recall of leases of an id, or of a value of the id or of its group in these quotas.
    /// Needs no lock.
    SteadyTime last_recall(std::uint32_t redis, const IdHash& id, const IdHash& group,
                           const Quotas& quotas) const;
    /// The entry of this name: name_hash of a `tollgate_redis`, or Transport::master_name. If all
    /// entries are taken, the least recently used one is used again. Locks the node
    /// for a new name.
    SharedRedis& redis(std::uint32_t name) {
        // Most are of the same name as the one before.
        if (last_redis_ == nullptr || last_redis_->name.value() != name) {
            last_redis_ = &find_redis(name);
        }
        return *last_redis_;
    }

    /// The clock of the Redis with this name (see redis) showed `time` between `sent` and
    /// `received`: see RedisClock::observe. Locks the node.
    void observe_time(std::uint32_t name, ExactSteadyTime sent, ExactSteadyTime received,
                      ExactInstant time);
    /// The clock of the Redis with this name (see redis) showed `time` between `sent` and
    /// `received`, and its server may not be the one that was observed before: see
    /// RedisClock::restart. Locks the node.
    void restart_clock(std::uint32_t name, ExactSteadyTime sent, ExactSteadyTime received,
                       ExactInstant time);

    /// Where this worker counts its holds of locks, if they are measured (LockHold). At first
    /// they are not counted.
    void count_holds(LockStatistics& statistics) noexcept { holds_ = &statistics; }
    /// The secret of the substitutes for removed fields. It stays the same until nginx is started
    /// again, or the size of the zone changes. Needs no lock.
    const FieldSecret& field_secret() const { return node_.secret; }
    /// A number for a call that asks for a lease: no other call of this node has it. Needs no lock.
    std::uint64_t number_call() noexcept { return node_.last_call.next(); }
    /// The node's name in Redis keys: 16 hexadecimal digits.
    std::string node_name() const;

  private:
    friend class LockedNode;
    friend class LockedStripe;

    struct Stripe {
        Stripe(SharedStripe& own, std::span<std::byte> memory, ZoneMutex& lock)
            : shared(own), tables(memory), mutex(lock) {}
        SharedStripe& shared;
        StripeTables tables;
        ZoneMutex& mutex;
    };

    StripeNumber at(std::size_t hash) const { return StripeNumber{hash % stripes_.size()}; }
    SharedRedis& find_redis(std::uint32_t name);

    SharedNode& node_;
    std::span<SharedRedis> redis_;
    Changes changes_;
    Recalls recalls_;
    ZoneMutex& mutex_;
    std::vector<std::unique_ptr<Stripe>> stripes_;
    LockStatistics* holds_ = nullptr;
    SharedRedis* last_redis_ = nullptr;  ///< of the last call of redis()
};

/// Holds the lock of a zone's node, and gives access to what it protects. It protects the
/// statistics registry too.
class LockedNode {
  public:
    explicit LockedNode(Zone& zone) noexcept : lock_(zone.mutex_, zone.holds_), zone_(zone) {}

    Changes& changes() const { return zone_.changes_; }
    Recalls& recalls() const { return zone_.recalls_; }
    TableWorkers& table_workers() const { return zone_.node_.table_workers; }
    WorkerPlaces& places() const { return zone_.node_.places; }
    /// The entry of this name_hash of a `tollgate_redis` with `sentinel`; see Zone::redis.
    redis::SharedMaster& sentinel_master(std::uint32_t name) const;

  private:
    ZoneLock lock_;
    Zone& zone_;
};

/// Holds the lock of a stripe, and gives access to what it protects.
class LockedStripe {
  public:
    LockedStripe(Zone& zone, StripeNumber number) noexcept
        : number_(number),
          stripe_(*zone.stripes_[static_cast<std::size_t>(number)]),
          lock_(stripe_.mutex, zone.holds_) {}
    /// Locks the stripe of this key, id or address.
    template <typename Owner>
    LockedStripe(Zone& zone, const Owner& owner) noexcept
        : LockedStripe(zone, zone.stripe_of(owner)) {}

    StripeNumber number() const { return number_; }
    KeyCache& keys() const { return stripe_.tables.keys; }
    QuotaCache& quotas() const { return stripe_.tables.quotas; }
    AddressBudgets& addresses() const { return stripe_.tables.addresses; }
    BanCache& bans() const { return stripe_.tables.bans; }
    SliceRecords& slices() const { return stripe_.tables.slices; }
    FlightRecords& flights() const { return stripe_.tables.flights; }
    SharedStripe& shared() const { return stripe_.shared; }

  private:
    StripeNumber number_;
    Zone::Stripe& stripe_;
    ZoneLock lock_;
};

}  // namespace tollgate
