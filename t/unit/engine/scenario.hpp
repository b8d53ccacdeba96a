#pragma once

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include "module/quota/quota_state.hpp"
#include "t/unit/engine/timeline.hpp"
#include "t/unit/engine/traffic.hpp"

namespace tollgate::engine {

using Milliseconds = std::chrono::milliseconds;

/// When a simulation begins, by Redis's clock, unless the scenario sets another time.
constexpr Instant kBeginning{Milliseconds(1'795'000'000'000)};
/// How long requests come, unless the scenario sets another time.
constexpr Milliseconds kDuration{35'000};

/// During this time, calls of the first nodes get no reply.
struct Outage {
    Milliseconds from{};
    Milliseconds to{};
    int nodes = 0;
    double executed = 0;  ///< the share of their calls that Redis still executes
};

/// A replica becomes the master. It lacks what the old master counted in the last `lag`, and its
/// clock differs. Calls that are under way are lost.
struct Failover {
    Milliseconds at{};  ///< 0: none
    Milliseconds lag{};
    Milliseconds clock{};  ///< how far the new master's clock is ahead of the old one's
    /// Split brain: the first nodes stay with the old master until they detect that it is no longer
    /// the master. What it counts after the failover is lost.
    int minority = 0;
    Milliseconds detected{};  ///< so long after the failover
};

/// Slots with keys move from one master of a cluster to another, one after the other.
struct Moves {
    Milliseconds from{};  ///< 0: none
    Milliseconds every{};
    int slots = 0;
    Milliseconds lasting{};  ///< the time that one slot takes
};

struct Scenario {
    std::string name;
    int nodes;
    int keys;
    double per_second;        ///< requests of a worker for all its keys; 0: only those of the test
    std::vector<Rate> rates;  ///< of the plan; none: it is unlimited
    bool sliding = false;
    bool crashes = false;
    Milliseconds delay{5};  ///< at most, each way
    bool is_spent = false;  ///< demand exceeds its windows, and no units are lost
    double calls = 1;       ///< maximum calls of Redis per granted request
    int workers = 1;        ///< per node; they share its zone
    Milliseconds jump{};    ///< of Redis's clock, in the middle
    Outage outage{};
    Failover failover{};
    Traffic traffic = Traffic::kEven;
    Timeline::Time round_trip{};  ///< mean, and at most 20 % more or less; 0: `delay` applies
    bool leases = true;
    Milliseconds duration = kDuration;  ///< how long requests come
    Milliseconds key_cache = std::chrono::minutes(1);
    int masters = 0;  ///< of a cluster; 0: no cluster
    Moves moves{};
    Instant beginning = kBeginning;
    std::chrono::days history{};  ///< see PlanTable
};

inline std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
    return out << scenario.name;
}

}  // namespace tollgate::engine
