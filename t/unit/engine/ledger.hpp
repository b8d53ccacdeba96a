#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "t/unit/engine/simulated_redis.hpp"
#include "t/unit/engine/timeline.hpp"

namespace tollgate::engine {

/// A window of a key in a simulation.
struct KeyWindow {
    int key;           ///< its number, from 0
    std::size_t rate;  ///< the index of its rate
    std::int64_t number;
    auto operator<=>(const KeyWindow&) const = default;
};

/// The id of a key of a simulation, which is also the key itself.
inline std::string id_of(int key) {
    return "k" + std::to_string(key + 1);
}
inline int key_of(const std::string& id) {
    return std::stoi(id.substr(1)) - 1;
}

/// What became of the requests and of the units of a simulation.
struct Ledger {
    /// The requests of one window.
    struct Tally {
        std::int64_t granted = 0;
        std::int64_t refused = 0;
        std::int64_t refused_early = 0;          ///< of them: while counted units were in leases
        std::int64_t idle_at_first_refusal = 0;  ///< the units that were in leases then
        /// The largest Retry-After of these early refusals, in seconds.
        std::int64_t longest_early_wait = 0;

        /// Whether at least one and a half times the limit was asked for.
        bool exceeds(std::int64_t limit) const { return (granted + refused) * 2 >= limit * 3; }
    };
    using Executed = std::vector<SimulatedRedis::Executed>;

    std::map<KeyWindow, Tally> tallies;
    /// The units that were granted to each key in each UTC day.
    std::map<std::pair<int, std::int64_t>, std::int64_t> granted_in_day;
    /// The units that each node granted.
    std::map<std::pair<int, KeyWindow>, std::int64_t> node_granted;
    std::int64_t calls = 0;
    std::int64_t lookups = 0;  ///< of these calls
    std::int64_t ids = 0;      ///< in the acquires that were executed
    std::int64_t decided = 0;  ///< requests in them: they waited for Redis
    std::int64_t requests = 0;
    std::int64_t granted = 0;
    std::int64_t granted_alone = 0;  ///< of them: while Redis was unreachable
    std::int64_t unavailable = 0;    ///< requests refused because Redis was unreachable
    std::int64_t unauthenticated = 0;
    std::int64_t critical = 0;      ///< lines of the log
    Timeline::Time last_without{};  ///< when the last request was decided without Redis

    /// Units that a master counted and its successor lacks.
    std::map<KeyWindow, std::int64_t> not_replicated;
    /// Units that may be counted and not granted: a call got no reply, or a node crashed.
    std::map<KeyWindow, std::int64_t> lost;
    /// Of them, those that Redis has taken back, in all windows.
    std::int64_t taken_back = 0;
    /// Units that Redis granted to requests whose reply is under way.
    std::map<int, std::int64_t> in_flight;
    /// The count that each node saw last.
    std::map<std::pair<int, KeyWindow>, std::int64_t> seen;

    /// Redis executed acquires, and the reply is under way.
    void note_executed(const Executed& executed) {
        for (const auto& one : executed) {
            in_flight[key_of(one.id)] += one.acquired.granted;
            ++ids;
            decided += one.acquire.count;
            for (std::size_t i = 0; i < one.taken_back.size(); ++i) {
                const auto& [number, units, previous] = one.taken_back[i];
                if (units != 0) {
                    lost[{key_of(one.id), i, number}] += units;
                    taken_back -= units;
                }
            }
        }
    }
    /// The reply arrived at a node.
    void note_answered(int node, const Executed& executed) {
        for (const auto& one : executed) {
            const int key = key_of(one.id);
            in_flight[key] -= one.acquired.granted;
            for (std::size_t i = 0; i < one.acquired.windows.size(); ++i) {
                const WindowCount& window = one.acquired.windows[i];
                seen[{node, {key, i, window.number}}] = window.count;
            }
        }
    }
    /// The old master counted units that its successor will lack.
    void note_not_replicated(const Executed& executed) {
        for_each_window(executed, [&](const KeyWindow& window, std::int64_t units) {
            not_replicated[window] += units;
        });
    }
    /// A call gets no reply. `executed` is empty if Redis has not executed it.
    void note_lost(const Executed& executed, const redis::Call& call) {
        for_each_window(
            executed, [&](const KeyWindow& window, std::int64_t units) { lost[window] += units; });
        for (const auto& one : executed) {
            in_flight[key_of(one.id)] -= one.acquired.granted;
        }
        if (!executed.empty() || call.script != &redis::acquire_script()) {
            return;
        }
        // Units to give back, which are not in a report.
        for (const auto& one : SimulatedRedis::asked_in(call)) {
            const auto& adjustments = one.acquire.adjustments;
            if (adjustments.empty() || one.acquire.report_numbers.front() != 0) {
                continue;
            }
            for (std::size_t i = 0; i < adjustments.size(); ++i) {
                lost[{key_of(one.id), i, adjustments[i].number}] +=
                    std::max<std::int64_t>(-adjustments[i].units, 0);
                lost[{key_of(one.id), i, adjustments[i].number - 1}] +=
                    std::max<std::int64_t>(-adjustments[i].previous, 0);
            }
        }
    }

  private:
    /// Calls `use` with each window of the acquires and the units that Redis counted in it.
    template <typename Use>
    static void for_each_window(const Executed& executed, Use use) {
        for (const auto& one : executed) {
            for (std::size_t i = 0; i < one.acquired.windows.size(); ++i) {
                use(KeyWindow{key_of(one.id), i, one.acquired.windows[i].number},
                    one.acquired.granted + one.acquired.lease);
            }
        }
    }
};

}  // namespace tollgate::engine
