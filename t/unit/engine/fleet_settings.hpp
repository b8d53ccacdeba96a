#pragma once

#include <algorithm>
#include <vector>

#include "module/engine/settings.hpp"
#include "module/text/name_hash.hpp"
#include "t/unit/engine/scenario.hpp"

namespace tollgate::engine {

/// The configuration that the workers of a fleet share. It must outlive them.
struct FleetSettings {
    explicit FleetSettings(const Scenario& scenario) {
        table.name = "api";
        table.plans.push_back(
            {.name = "free", .kind = Plan::Kind::kLimited, .rates = scenario.rates});
        table.plans.back().sliding = scenario.sliding;
        if (scenario.rates.empty()) {
            table.plans.back().kind = Plan::Kind::kUnlimited;
        }
        table.history = scenario.history;
        table.lease_time = scenario.leases ? kLeaseTime : Milliseconds(0);
        redis.name = "main";
        redis.name_hash = name_hash(redis.name);
        served.emplace_back(&table, redis.name_hash);
        redis.keys = redis::Keys("t:");
        redis.is_cluster = scenario.masters > 0;
        redis.key_cache = scenario.key_cache;
        if (scenario.round_trip == Timeline::Time(0)) {
            redis.timeout = std::max(Milliseconds(100), 4 * scenario.delay);
        }
        if (scenario.failover.at > Milliseconds(0)) {
            // Nodes that count alone would hide what the failover itself costs.
            redis.on_failure = FailurePolicy::kDeny;
        }
    }
    ~FleetSettings() = default;
    // The lists contain addresses of the table.
    FleetSettings(const FleetSettings&) = delete;
    FleetSettings& operator=(const FleetSettings&) = delete;

    RedisSettings redis;
    PlanTable table;
    std::vector<const PlanTable*> set{&table};
    std::vector<ServedTable> served;
};

}  // namespace tollgate::engine
