#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "module/report/counter.hpp"
#include "module/report/verdict.hpp"

namespace tollgate {

/// Every verdict, in the order of its values.
constexpr std::array kVerdicts{
    Verdict::kNone,     Verdict::kGranted,         Verdict::kLimited,
    Verdict::kBanned,   Verdict::kUnauthenticated, Verdict::kForbidden,
    Verdict::kBypassed, Verdict::kDegraded,        Verdict::kUnavailable};

/// The verdict as statistics show it. One that was never reached is a client's that left before.
constexpr std::string_view statistics_name(Verdict verdict) {
    return verdict == Verdict::kNone ? "abandoned" : name_of(verdict);
}

/// What became of requests, by verdict.
struct VerdictCounts {
    std::array<Counter, kVerdicts.size()> counts{};

    const Counter& operator[](Verdict verdict) const {
        return counts[static_cast<std::size_t>(verdict)];
    }
    void note(Verdict verdict) noexcept { counts[static_cast<std::size_t>(verdict)].add(); }
};

/// Of the requests of one plan in one set of plan tables.
struct RequestStatistics {
    VerdictCounts decided;
    VerdictCounts dry_run;  ///< where `tollgate_dry_run` held: nothing was refused

    void note(Verdict verdict, bool is_dry_run) noexcept {
        (is_dry_run ? dry_run : decided).note(verdict);
    }
};

/// How keys' records were found: a key that is looked up is one of these.
struct KeyCacheStatistics {
    Counter hits;           ///< a good or bad record was known
    Counter negative_hits;  ///< it was known that Redis has none
    Counter misses;         ///< Redis had to be asked
};

/// Who decided the quotas of requests: each is one of these.
struct DecisionStatistics {
    Counter by_redis;
    Counter by_lease;    ///< granted ahead of Redis
    Counter by_refusal;  ///< refused for what is known to be exhausted or banned
    Counter alone;       ///< while Redis was out of reach
};

/// What was taken from Redis to be granted here. Units are those of `tollgate_cost`, each counted
/// once for each plan table.
struct LeaseStatistics {
    Counter number;
    Counter granted;   ///< units that Redis leased
    Counter spent;     ///< of them: granted to requests
    Counter returned;  ///< of them: given back
    Counter lost;      ///< of them: lapsed with their window, given way, or sent and not answered

    void note_granted(std::uint64_t units) noexcept {
        number.add();
        granted.add(units);
    }
};

/// Of one `tollgate_redis`.
struct RedisStatistics {
    Counter acquires;  ///< calls of the script that decides
    Counter lookups;   ///< calls for a key's record
    Counter errors;    ///< Redis answered with an error, too late, or not at all
    Counter reconnects;
    Counter breaker_opened;
    Histogram round_trips;
    WorkerSet breaker_open;  ///< the workers that hold Redis to be out of reach
    WorkerSet subscribed;    ///< the workers that are told of changed keys
    KeyCacheStatistics keys;
    DecisionStatistics decisions;
    LeaseStatistics leases;
    Counter owed;     ///< units granted while Redis was out of reach, counted as those of leases
    Counter settled;  ///< of them: Redis has counted them
    Counter lapsed;   ///< of them: their window ended before Redis was told

    /// A worker has started: what its predecessor of the same number left behind is no longer so.
    void start_worker(std::size_t worker) noexcept {
        breaker_open.start(worker);
        subscribed.start(worker);
    }
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

/// How full one of them is.
struct StoreStatistics {
    std::uint64_t size = 0;       ///< places for entries; 0 where it isn't known
    std::uint64_t used = 0;       ///< of them
    std::uint64_t evictions = 0;  ///< entries that gave way to others before their time
};

/// Of the node as a whole.
struct NodeStatistics {
    Gauge started;  ///< Unix seconds; since then everything is counted
};

}  // namespace tollgate
