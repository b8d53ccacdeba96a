// Many nodes, each running the engine, share keys over one Redis through whole windows: random
// requests, slow replies, nodes that crash with their leases, clocks that differ. No window ever
// grants more than its limit, and without crashes the whole limit is granted.

#include <gtest/gtest.h>

#include "t/unit/engine/fleet.hpp"

namespace tollgate::engine {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kSeeds = 2;

bool begins_or_ends_outside(std::int64_t number, Period period) {
    return window_end(number - 1, period) < kBeginning ||
           window_end(number, period) > kBeginning + kDuration;
}

class QuotaSimulation : public testing::TestWithParam<Scenario> {};

TEST_P(QuotaSimulation, GrantsTheLimitAndNeverMore) {
    const Scenario& scenario = GetParam();
    double calls_a_request = 0;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        Fleet fleet(scenario, seed);
        fleet.run_for(kDuration);
        std::int64_t full = 0;
        EXPECT_EQ(fleet.ledger.unauthenticated, 0);
        for (const auto& [window, tally] : fleet.ledger.tallies) {
            const auto& [key, index, number] = window;
            const auto [limit, period, burst] = scenario.rates[index];
            EXPECT_LE(tally.granted, limit) << id_of(key) << " seed " << seed;
            const auto demand = tally.granted + tally.refused;
            if (!scenario.is_spent || demand < limit * 3 / 2 ||
                begins_or_ends_outside(number, period)) {
                continue;
            }
            EXPECT_GE(tally.granted * 100, limit * 99) << id_of(key) << " seed " << seed;
            ++full;
        }
        EXPECT_EQ(full > 0, scenario.is_spent) << "windows that were asked for more than they have";
        calls_a_request += static_cast<double>(fleet.ledger.calls) /
                           static_cast<double>(std::max<std::int64_t>(fleet.ledger.granted, 1)) /
                           kSeeds;
    }
    RecordProperty("redis_calls_a_granted_request", std::to_string(calls_a_request));
    EXPECT_LE(calls_a_request, scenario.calls);
}

class QuotaOutage : public testing::TestWithParam<Scenario> {};

TEST_P(QuotaOutage, EndsWithAllThatWasGrantedCounted) {
    const Scenario& scenario = GetParam();
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        Fleet fleet(scenario, seed);
        // Longer than the requests: owed units are reported, and leases are given back.
        fleet.run_for(kDuration + 5s);
        EXPECT_GT(fleet.ledger.granted_alone, 100);
        EXPECT_EQ(fleet.ledger.critical, 0);
        for (const auto& [place, granted] : fleet.ledger.node_granted) {
            const auto& [node, window] = place;
            EXPECT_LE(granted, scenario.rates[window.rate].requests)
                << id_of(window.key) << " at node " << node;
        }
        for (const auto& [window, tally] : fleet.ledger.tallies) {
            const auto& [key, index, number] = window;
            if (index + 1 == scenario.rates.size()) {
                const auto counted = fleet.counted(key, scenario.rates[index]).count;
                EXPECT_GE(counted, tally.granted) << id_of(key) << " seed " << seed;
                EXPECT_LE(counted, tally.granted + fleet.ledger.lost[window])
                    << id_of(key) << " seed " << seed;
            }
        }
    }
}

class QuotaFailover : public testing::TestWithParam<Scenario> {};

TEST_P(QuotaFailover, CostsWhatTheReplicaLacked) {
    const Scenario& scenario = GetParam();
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        Fleet fleet(scenario, seed);
        fleet.run_for(kDuration);
        EXPECT_EQ(fleet.ledger.critical, 0);
        std::int64_t most_over = 0;
        std::int64_t full_after = 0;
        for (const auto& [window, tally] : fleet.ledger.tallies) {
            const auto& [key, index, number] = window;
            const auto [limit, period, burst] = scenario.rates[index];
            const auto over = tally.granted - limit;
            EXPECT_LE(over, fleet.ledger.not_replicated[window]) << id_of(key) << " seed " << seed;
            most_over = std::max(most_over, over);
            if (window_end(number - 1, period) > kBeginning + scenario.failover.at + 2s &&
                !begins_or_ends_outside(number, period)) {
                EXPECT_LE(over, 0) << id_of(key) << " long after the failover, seed " << seed;
                full_after += over == 0 ? 1 : 0;
            }
        }
        EXPECT_GT(full_after, 0) << "the new master grants whole windows";
        if (scenario.failover.lag > 0ms) {
            EXPECT_GT(most_over, 0) << "the lag is seen";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(, QuotaFailover,
                         testing::Values(Scenario{.name = "without_lag",
                                                  .nodes = 10,
                                                  .keys = 2,
                                                  .per_second = 400,
                                                  .rates = {{1'000, 1s}},
                                                  .workers = 2,
                                                  .failover = {.at = 10'500ms}},
                                         Scenario{.name = "with_lag",
                                                  .nodes = 10,
                                                  .keys = 2,
                                                  .per_second = 400,
                                                  .rates = {{1'000, 1s}, {18'000, 20s}},
                                                  .failover = {.at = 10'300ms, .lag = 200ms}},
                                         Scenario{.name = "to_another_clock",
                                                  .nodes = 10,
                                                  .keys = 2,
                                                  .per_second = 400,
                                                  .rates = {{1'000, 1s}},
                                                  .failover = {.at = 10'500ms, .clock = 300ms}}),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(, QuotaSimulation,
                         testing::Values(Scenario{.name = "ample",
                                                  .nodes = 20,
                                                  .keys = 1,
                                                  .per_second = 200,
                                                  .rates = {{1'000'000, 10s}},
                                                  .calls = 0.07},
                                         Scenario{.name = "busy",
                                                  .nodes = 3,
                                                  .keys = 1,
                                                  .per_second = 3'000,
                                                  .rates = {{1'000'000, 10s}},
                                                  .calls = 0.005},
                                         Scenario{.name = "spent",
                                                  .nodes = 20,
                                                  .keys = 1,
                                                  .per_second = 200,
                                                  .rates = {{20'000, 10s}},
                                                  .is_spent = true,
                                                  .calls = 0.15},
                                         Scenario{.name = "short",
                                                  .nodes = 30,
                                                  .keys = 1,
                                                  .per_second = 100,
                                                  .rates = {{1'000, 1s}},
                                                  .is_spent = true,
                                                  .calls = 0.8},
                                         Scenario{.name = "small",
                                                  .nodes = 10,
                                                  .keys = 20,
                                                  .per_second = 50,
                                                  .rates = {{20, 2s}},
                                                  .is_spent = true,
                                                  .calls = 2},
                                         Scenario{.name = "two",
                                                  .nodes = 20,
                                                  .keys = 3,
                                                  .per_second = 200,
                                                  .rates = {{1'000, 1s}, {10'000, 20s}},
                                                  .calls = 0.8},
                                         Scenario{.name = "slow",
                                                  .nodes = 20,
                                                  .keys = 2,
                                                  .per_second = 200,
                                                  .rates = {{1'000, 1s}},
                                                  .delay = 120ms,
                                                  .is_spent = true},
                                         Scenario{.name = "crashing",
                                                  .nodes = 20,
                                                  .keys = 2,
                                                  .per_second = 200,
                                                  .rates = {{1'000, 1s}, {15'000, 20s}},
                                                  .crashes = true},
                                         Scenario{.name = "sliding",
                                                  .nodes = 20,
                                                  .keys = 2,
                                                  .per_second = 200,
                                                  .rates = {{1'000, 2s}},
                                                  .sliding = true,
                                                  .calls = 4},
                                         Scenario{.name = "shared",
                                                  .nodes = 10,
                                                  .keys = 2,
                                                  .per_second = 200,
                                                  .rates = {{1'000, 1s}, {15'000, 20s}},
                                                  .delay = 50ms,
                                                  .workers = 2},
                                         Scenario{.name = "set_back",
                                                  .nodes = 20,
                                                  .keys = 2,
                                                  .per_second = 200,
                                                  .rates = {{1'000, 1s}},
                                                  .is_spent = true,
                                                  .jump = -2s}),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(, QuotaOutage,
                         testing::Values(Scenario{.name = "of_all",
                                                  .nodes = 10,
                                                  .keys = 2,
                                                  .per_second = 200,
                                                  .rates = {{1'000, 1s}, {100'000, 100s}},
                                                  .outage = {10s, 20s, 10, 0}},
                                         Scenario{.name = "of_some",
                                                  .nodes = 10,
                                                  .keys = 2,
                                                  .per_second = 200,
                                                  .rates = {{1'000, 1s}, {100'000, 100s}},
                                                  .outage = {10s, 20s, 3, 0}},
                                         Scenario{.name = "of_answers",
                                                  .nodes = 10,
                                                  .keys = 2,
                                                  .per_second = 200,
                                                  .rates = {{1'000, 1s}, {100'000, 100s}},
                                                  .outage = {10s, 20s, 5, 0.5}},
                                         Scenario{.name = "with_little_left",
                                                  .nodes = 10,
                                                  .keys = 2,
                                                  .per_second = 200,
                                                  .rates = {{20'500, 100s}},
                                                  .workers = 2,
                                                  .outage = {10s, 20s, 10, 0.5}}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tollgate::engine
