#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "module/report/counter.hpp"
#include "module/report/redis_counters.hpp"
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
    Counter over;           ///< granted beyond a soft limit

    void note(Verdict verdict, bool is_dry_run, bool is_over = false) noexcept {
        (is_dry_run ? dry_run : decided).note(verdict);
        if (is_over) {
            over.add();
        }
    }
};

/// Statistics of one `tollgate_redis`. Every member is a Counter, or consists of them: see
/// add_counters.
struct RedisStatistics {
    std::array<Counter, kRedisCounterCount> counters{};  ///< in the order of kRedisCounters
    /// Units that the worker took out of the leases: spent, in a slice, in a call that returns
    /// them, or without a place in the zone (see take_unstored). Decreases when they are back.
    Counter taken;
    /// Owed units that the worker keeps, because the zone has no place for them. Decreases when
    /// they are stored.
    Counter owed_taken;
    Histogram round_trips;

    Counter& operator[](CounterName name) noexcept { return counters[name.index]; }
    const Counter& operator[](CounterName name) const noexcept { return counters[name.index]; }

    void note_lease(std::uint64_t units) noexcept {
        (*this)["leases"].add();
        (*this)["lease_units.granted"].add(units);
    }
    /// These are the counts of a worker that has ended: the units that it carried are lost, and the
    /// owed ones are not reported any more.
    void lose_carried() noexcept {
        const std::uint64_t units = taken.value() - (*this)["lease_units.spent"].value();
        (*this)["lease_units.lost"].add(units);
        taken.add(-units);
        const std::uint64_t owed = owed_taken.value();
        (*this)["owed_units.lapsed"].add(owed);
        owed_taken.add(-owed);
    }
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
    WorkerSet subscribed;    ///< the workers that learn of changes at once: see NodeSubscription

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

/// The tables with the data of valid keys: what they lose by an eviction is looked up again.
inline constexpr std::array kStoresOfKeys{Store::kKeys, Store::kLongKeys, Store::kQuotas,
                                          Store::kLongQuotas};

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
