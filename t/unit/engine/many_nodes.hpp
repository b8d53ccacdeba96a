#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

#include "module/quota/lease.hpp"
#include "t/unit/engine/fleet.hpp"

namespace tollgate::engine {

/// The seed of tests that run one fleet.
inline constexpr unsigned kSeed = 1;

/// Nodes that share a demand: the same requests at 1 node as at 1,000.
struct ManyNodes {
    int nodes = 100;
    int keys = 20;
    double per_second = 6'000;  ///< requests of all nodes together
    double demand = 1.6;        ///< of the busiest key, as a multiple of its limit
    Traffic traffic = Traffic::kEven;
    Timeline::Time round_trip = Milliseconds(5);
    bool leases = true;
    std::chrono::seconds period{2};  ///< of the window
    int windows = 2;                 ///< the time of the simulation
    Milliseconds key_cache = std::chrono::minutes(1);
    int masters = 0;  ///< of a cluster; 0: no cluster
};

/// The units of a lease's horizon: what all nodes are asked for in that time.
inline double units_in_horizon(const ManyNodes& many) {
    return many.per_second *
           std::chrono::duration<double>(lease_horizon(many.period, kLeaseTime)).count();
}

/// The units that a window has for the demand.
inline std::int64_t limit_of(const ManyNodes& many) {
    const double busiest = KeyChoice(many.traffic, many.keys).share(0) * many.per_second;
    return std::max<std::int64_t>(
        std::llround(busiest * static_cast<double>(many.period.count()) / many.demand), 1);
}

inline Scenario scenario_of(const ManyNodes& many) {
    return {.name = {},
            .nodes = many.nodes,
            .keys = many.keys,
            .per_second = many.per_second / many.nodes,
            .rates = {{limit_of(many), many.period}},
            .traffic = many.traffic,
            .round_trip = many.round_trip,
            .leases = many.leases,
            .duration = many.period * many.windows,
            .key_cache = many.key_cache,
            .masters = many.masters};
}

/// What a simulation measured.
struct Figures {
    double calls_per_request = 0;
    double ids_per_request = 0;    ///< that acquires ask for
    double waits_per_request = 0;  ///< requests that Redis decides
    double calls_per_second = 0;
    double lookups_per_second = 0;  ///< of these
    double busiest_shard = 0;       ///< the share of the calls that the busiest master gets
    double idle = 0;                ///< units in leases, of all keys: the mean
    std::int64_t most_idle = 0;     ///< the maximum
    std::int64_t refused = 0;
    std::int64_t refused_early = 0;       ///< of these: while units of the key were in leases
    std::int64_t longest_early_wait = 0;  ///< the largest Retry-After of these, in seconds
    double utilisation = 1;               ///< the least part of a limit that was granted, of the
                                          ///< windows that were asked for at least that
    double held = 0;   ///< units in leases at the first refusal of a window: the most of a window,
                       ///< as a share of its limit
    double over = 0;   ///< units beyond the limit: the most of a window, as a share of the limit
    double under = 0;  ///< units that were asked for, are within the limit and were not granted:
                       ///< the same
    std::int64_t granted = 0;
    std::int64_t without_redis = 0;  ///< requests that were decided while Redis was unreachable
};

/// Runs a simulation of one rate to its end, and measures it.
class Measurement {
  public:
    explicit Measurement(Fleet& fleet) : fleet_(fleet) {}

    Figures run() {
        const Milliseconds duration = fleet_.scenario().duration;
        int samples = 0;
        while (fleet_.timeline().now() < duration) {
            fleet_.run_for(kSample);
            const std::int64_t idle = idle_units();
            figures_.most_idle = std::max(figures_.most_idle, idle);
            figures_.idle += static_cast<double>(idle);
            ++samples;
        }
        figures_.idle /= samples;
        take_calls(static_cast<double>(duration.count()) / 1000);
        // Replies are under way.
        fleet_.run_for(Milliseconds(500));
        take_windows();
        return figures_;
    }

  private:
    static constexpr Milliseconds kSample{50};

    std::int64_t idle_units() {
        std::int64_t idle = 0;
        const std::int64_t window = fleet_.current_window(0);
        for (int key = 0; key < fleet_.scenario().keys; ++key) {
            idle += fleet_.idle({key, 0, window});
        }
        return idle;
    }

    void take_calls(double seconds) {
        const Ledger& ledger = fleet_.ledger;
        const auto calls = static_cast<double>(ledger.calls);
        figures_.calls_per_second = calls / seconds;
        figures_.lookups_per_second = static_cast<double>(ledger.lookups) / seconds;
        const auto requests = static_cast<double>(std::max<std::int64_t>(ledger.requests, 1));
        figures_.calls_per_request = calls / requests;
        figures_.ids_per_request = static_cast<double>(ledger.ids) / requests;
        figures_.waits_per_request = static_cast<double>(ledger.decided) / requests;
        for (const SimulatedServer& server : fleet_.cluster().servers) {
            figures_.busiest_shard =
                std::max(figures_.busiest_shard, static_cast<double>(server.calls) / calls);
        }
        figures_.granted = ledger.granted;
        figures_.without_redis = ledger.granted_alone + ledger.unavailable;
    }

    void take_windows() {
        const auto [limit, period, burst] = fleet_.scenario().rates.front();
        for (const auto& [window, tally] : fleet_.ledger.tallies) {
            figures_.refused += tally.refused;
            figures_.refused_early += tally.refused_early;
            figures_.longest_early_wait =
                std::max(figures_.longest_early_wait, tally.longest_early_wait);
            if (tally.granted + tally.refused >= limit) {
                figures_.utilisation =
                    std::min(figures_.utilisation,
                             static_cast<double>(tally.granted) / static_cast<double>(limit));
            }
            const auto units = static_cast<double>(limit);
            const auto asked = std::min(tally.granted + tally.refused, limit);
            figures_.held =
                std::max(figures_.held, static_cast<double>(tally.idle_at_first_refusal) / units);
            figures_.over =
                std::max(figures_.over, static_cast<double>(tally.granted - limit) / units);
            figures_.under =
                std::max(figures_.under, static_cast<double>(asked - tally.granted) / units);
        }
    }

    Fleet& fleet_;
    Figures figures_;
};

/// The acquires per second of a node for a key, without leases. A call takes a round trip. If
/// requests came in the meantime, the next call follows at once; otherwise it follows when the next
/// request comes, after 1 / rate. (Poisson arrivals)
inline double acquires_per_second(double rate, Timeline::Time round_trip) {
    const double seconds = std::chrono::duration<double>(round_trip).count();
    return 1 / (seconds + std::exp(-rate * seconds) / rate);
}

/// The most that N nodes grant alone in an outage of Redis that lasts until the window's end: each
/// grants its part of what remained by its own requests, or one in N, whichever is more, rounded
/// up. See share_of.
constexpr std::int64_t most_in_outage(std::int64_t remained, int nodes) {
    return nodes == 1 ? remained : 2 * remained + nodes;
}
/// The same of a window that ends after the outage. Redis grants the rest of it before all workers
/// are back and all nodes have reported.
constexpr std::int64_t most_after_outage(std::int64_t limit, int nodes) {
    return most_in_outage(limit, nodes) + (nodes == 1 ? 0 : limit);
}

}  // namespace tollgate::engine
