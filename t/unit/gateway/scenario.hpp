#pragma once

#include <chrono>
#include <ostream>
#include <vector>

#include "module/quota/quota_state.hpp"

namespace tollgate::gateway {

using Milliseconds = std::chrono::milliseconds;

/// When the simulation begins, by Redis's clock.
constexpr Instant kBeginning{Milliseconds(1'795'000'000'000)};
/// How long requests come.
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
};

struct Scenario {
    const char* name;
    int nodes;
    int keys;
    double per_second;  ///< requests of a worker for all its keys
    std::vector<Rate> rates;
    bool sliding = false;
    bool crashes = false;
    Milliseconds delay{5};  ///< at most, each way
    bool is_spent = false;  ///< demand exceeds its windows, and no units are lost
    double calls = 1;       ///< maximum calls of Redis per granted request
    int workers = 1;        ///< per node; they share its zone
    Milliseconds jump{};    ///< of Redis's clock, in the middle
    Outage outage{};
    Failover failover{};
};

inline std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
    return out << scenario.name;
}

}  // namespace tollgate::gateway
