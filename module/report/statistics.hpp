#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "module/report/counter.hpp"
#include "module/report/verdict.hpp"

namespace tollgate {

/// Every verdict, in the order of its values.
constexpr std::array kVerdicts{
    Verdict::kNone,     Verdict::kGranted,         Verdict::kLimited,
    Verdict::kBanned,   Verdict::kUnauthenticated, Verdict::kForbidden,
    Verdict::kBypassed, Verdict::kDegraded,        Verdict::kUnavailable};

/// The name of a verdict in the statistics. If there is no verdict, the client left first.
constexpr std::string_view statistics_name(Verdict verdict) {
    return verdict == Verdict::kNone ? "abandoned" : name_of(verdict);
}

/// The number of requests, by verdict.
struct VerdictCounts {
    std::array<Counter, kVerdicts.size()> counts{};

    const Counter& operator[](Verdict verdict) const {
        return counts[static_cast<std::size_t>(verdict)];
    }
    void note(Verdict verdict) noexcept { counts[static_cast<std::size_t>(verdict)].add(); }
};

/// Statistics of the requests of one plan in one set of plan tables. Every member consists of
/// counters: see add_counters.
struct RequestStatistics {
    VerdictCounts decided;
    VerdictCounts dry_run;  ///< with `tollgate_dry_run on`: nothing was refused

    void note(Verdict verdict, bool is_dry_run) noexcept {
        (is_dry_run ? dry_run : decided).note(verdict);
    }
};

/// The sources of keys' records. Each key that a request needs is counted once.
struct KeyCacheStatistics {
    Counter hits;           ///< the record was in the cache, valid or not
    Counter negative_hits;  ///< the cache showed that the key does not exist
    Counter misses;         ///< a look-up was needed
    /// Minutes in which a retiring key was used. A node counts each key once a minute.
    Counter retiring;
};

/// What decided the quotas of requests. Each decision is counted once.
struct DecisionStatistics {
    Counter by_redis;
    Counter by_lease;    ///< granted from a lease
    Counter by_refusal;  ///< refused from the cache: exhausted or banned
    Counter alone;       ///< while Redis was unreachable
};

/// Statistics of leases. Units are those of `tollgate_cost`; each is counted once per plan table.
struct LeaseStatistics {
    Counter number;
    Counter granted;   ///< units that Redis leased
    Counter spent;     ///< of them: granted to requests
    Counter returned;  ///< of them: returned to Redis
    /// Of them: their window ended, they were evicted, a reply was lost, or the worker was killed
    /// that had them in a slice.
    Counter lost;
    /// Taken out of the leases for requests: spent, or in a slice of a worker. Decreases if a slice
    /// is put back.
    Counter taken;

    void note_granted(std::uint64_t units) noexcept {
        number.add();
        granted.add(units);
    }
    /// These are the counts of a worker that was killed: its slices are lost.
    void lose_slices() noexcept {
        const std::uint64_t units = taken.value() - spent.value();
        lost.add(units);
        taken.add(-units);
    }
};

/// Statistics of one `tollgate_redis`. Every member is a Counter, or consists of them: see
/// add_counters.
struct RedisStatistics {
    Counter acquires;  ///< calls of acquire_script()
    Counter lookups;   ///< calls of lookup_script()
    Counter errors;    ///< error replies, late replies and missing replies
    Counter reconnects;
    Counter redirections;    ///< calls that a cluster sent to another server: MOVED, ASK
    Counter tls_handshakes;  ///< successful ones, of all links
    Counter tls_resumed;     ///< of them: resumed a session
    Counter breaker_opened;
    Counter failovers;  ///< how often Sentinel reported another master
    Histogram round_trips;
    KeyCacheStatistics keys;
    DecisionStatistics decisions;
    LeaseStatistics leases;
    Counter owed;     ///< units granted while Redis was unreachable, counted as in LeaseStatistics
    Counter settled;  ///< of them: reported to Redis and counted
    Counter lapsed;   ///< of them: their window ended before the report
};

/// Adds each counter of `part` to `sum`. Both consist of counters only.
template <typename Statistics>
void add_counters(Statistics& sum, const Statistics& part) noexcept {
    static_assert(std::is_standard_layout_v<Statistics> &&
                  sizeof(Statistics) % sizeof(Counter) == 0);
    constexpr std::size_t kCounters = sizeof(Statistics) / sizeof(Counter);
    const std::span sums(reinterpret_cast<Counter*>(&sum), kCounters);
    const std::span parts(reinterpret_cast<const Counter*>(&part), kCounters);
    for (std::size_t i = 0; i < kCounters; ++i) {
        sums[i].add(parts[i].value());
    }
}

/// The states of the node's workers for one `tollgate_redis`. All workers share one object, because
/// each of them asks for the states of the others.
struct RedisWorkers {
    WorkerSet breaker_open;  ///< the workers whose breaker is open
    WorkerSet subscribed;    ///< the workers that are subscribed to `events`

    /// A worker has started: see WorkerSet::start.
    void start_worker(std::size_t worker, std::uint32_t process) noexcept {
        breaker_open.start(worker, process);
        subscribed.start(worker, process);
    }
};

/// Where a worker counts the events of one `tollgate_redis`, and where it finds the states of the
/// other workers. Both are in the zone.
struct RedisCounts {
    RedisStatistics& own;
    RedisWorkers& workers;
};

/// The tables that the zone is divided into.
enum class Store { kKeys, kLongKeys, kUnknownKeys, kQuotas, kLongQuotas, kAddresses };

constexpr std::array kStores{Store::kKeys,   Store::kLongKeys,   Store::kUnknownKeys,
                             Store::kQuotas, Store::kLongQuotas, Store::kAddresses};

constexpr std::string_view name_of(Store store) {
    constexpr std::array<std::string_view, kStores.size()> kNames{
        "keys", "long_keys", "unknown_keys", "quotas", "long_quotas", "addresses"};
    return kNames[static_cast<std::size_t>(store)];
}

/// The occupancy of one of these tables.
struct StoreStatistics {
    std::uint64_t size = 0;       ///< places for entries; 0 if unknown
    std::uint64_t used = 0;       ///< of them
    std::uint64_t evictions = 0;  ///< evicted entries
};

/// Statistics of the whole node.
struct NodeStatistics {
    Gauge started;  ///< when counting began, in Unix seconds
};

}  // namespace tollgate
