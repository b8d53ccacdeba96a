// What faults cost, in both directions: no more than the formulas of module/SIZING.md, and a fault
// that costs units is seen.

#include <gtest/gtest.h>

#include <map>
#include <ostream>

#include "t/unit/engine/many_nodes.hpp"

namespace tollgate::engine {
namespace {

using namespace std::chrono_literals;

/// How long after a fault the last breaker closes: a time-out, and the longest time that a breaker
/// is open.
constexpr Milliseconds kRecovery = 100ms + 800ms;

/// Units of a window beyond its limit; below 0: units that it did not grant.
std::int64_t over_of(const Fleet& fleet, const Ledger::Tally& tally) {
    return tally.granted - fleet.scenario().rates.front().requests;
}

std::int64_t window_at(Milliseconds time, const Rate& rate) {
    return window_number(kBeginning + time, rate.period);
}

// --- an outage of Redis

class OutageOfNodes : public testing::TestWithParam<int> {};

TEST_P(OutageOfNodes, GrantsWhatRemainedAsOftenAsTheRuleAllows) {
    const int nodes = GetParam();
    const ManyNodes many{
        .nodes = nodes, .keys = 2, .per_second = 3'000, .demand = 1.2 * nodes, .windows = 3};
    Scenario scenario = scenario_of(many);
    const Rate rate = scenario.rates.front();
    // The second window begins while Redis is unreachable.
    scenario.outage = {.from = 1200ms, .to = 3s, .nodes = nodes};
    Fleet fleet(scenario, kSeed);
    std::map<KeyWindow, std::int64_t> most_over;
    fleet.timeline().at(scenario.outage.from, [&] {
        for (int key = 0; key < scenario.keys; ++key) {
            const KeyWindow first{key, 0, window_at(0ms, rate)};
            most_over[first] = most_in_outage(fleet.most_remaining(first), nodes) -
                               (rate.requests - fleet.counted(key, rate).count);
            const KeyWindow second{key, 0, first.number + 1};
            most_over[second] = most_after_outage(rate.requests, nodes) - rate.requests;
        }
    });
    fleet.run_for(scenario.duration + 5s);
    EXPECT_GT(fleet.ledger.granted_alone, 0);
    EXPECT_EQ(fleet.ledger.critical, 0);
    int full = 0;
    for (const auto& [window, tally] : fleet.ledger.tallies) {
        const auto over = over_of(fleet, tally);
        EXPECT_LE(over, most_over[window]) << id_of(window.key) << " window " << window.number;
        full += over == 0 ? 1 : 0;
    }
    EXPECT_GE(full, scenario.keys) << "the window after it grants its limit";
    // A node may spend its share of the second window before the outage ends.
    EXPECT_GE(fleet.ledger.last_without, scenario.outage.from);
    EXPECT_LE(fleet.ledger.last_without, scenario.outage.to + kRecovery);
}

INSTANTIATE_TEST_SUITE_P(, OutageOfNodes, testing::Values(1, 4, 20),
                         testing::PrintToStringParamName());

TEST(FaultsOfNodes, AnOutageOfSomeCostsWhatRemainedForEachOfThem) {
    Scenario scenario = scenario_of({.nodes = 10, .keys = 2, .demand = 6, .windows = 3});
    const Rate rate = scenario.rates.front();
    scenario.outage = {.from = 1200ms, .to = 3s, .nodes = 3};
    Fleet fleet(scenario, kSeed);
    fleet.run_for(scenario.duration + 5s);
    std::int64_t most = 0;
    for (const auto& [window, tally] : fleet.ledger.tallies) {
        const auto over = over_of(fleet, tally);
        EXPECT_LE(over, rate.requests / 2) << "the others spend the limit; about 3 in 10 of it";
        most = std::max(most, over);
        if (window.number == window_at(4s, rate)) {
            EXPECT_EQ(over, 0);
        }
    }
    EXPECT_GT(most, 0) << "the outage is seen";
}

// --- a replica becomes the master

struct FailoverCase {
    const char* name;
    Failover failover;
    int nodes = 20;
};

std::ostream& operator<<(std::ostream& out, const FailoverCase& one) {
    return out << one.name;
}

class FailoverOfNodes : public testing::TestWithParam<FailoverCase> {};

TEST_P(FailoverOfNodes, CostsWhatTheNewMasterLacks) {
    const auto& [name, failover, nodes] = GetParam();
    const ManyNodes many{
        .nodes = nodes, .keys = 2, .per_second = 4'000, .demand = 1.6, .windows = 4};
    Scenario scenario = scenario_of(many);
    scenario.failover = failover;
    const Rate rate = scenario.rates.front();
    Fleet fleet(scenario, kSeed);
    fleet.run_for(scenario.duration + 1s);
    EXPECT_EQ(fleet.ledger.critical, 0);
    EXPECT_EQ(fleet.ledger.granted_alone, 0);
    // The rate of a key, and what a node counts ahead of it: its lease for 100 ms.
    const double per_second = many.per_second / many.keys;
    const double minority = static_cast<double>(failover.minority) / nodes;
    const double seconds = static_cast<double>(failover.lag.count()) / 1000 +
                           minority * static_cast<double>(failover.detected.count()) / 1000 + 0.1;
    std::int64_t most = 0;
    int full = 0;
    for (const auto& [window, tally] : fleet.ledger.tallies) {
        const auto over = over_of(fleet, tally);
        const auto lacking = fleet.ledger.not_replicated[window];
        EXPECT_LE(over, std::min(lacking, rate.requests)) << id_of(window.key);
        EXPECT_LE(static_cast<double>(lacking), 1.2 * per_second * seconds) << id_of(window.key);
        most = std::max(most, over);
        if (window.number >= window_at(failover.at + failover.detected, rate) + 1) {
            EXPECT_LE(over, 0) << "windows that begin later are exact";
            full += tally.exceeds(rate.requests) ? 1 : 0;
            EXPECT_TRUE(!tally.exceeds(rate.requests) || over * 100 >= -rate.requests);
        }
    }
    EXPECT_GT(full, 0) << "the new master grants whole windows";
    if (failover.lag > 0ms || failover.minority > 0) {
        EXPECT_GT(most, 0) << "what is lost is granted again";
    } else {
        EXPECT_EQ(most, 0);
    }
    EXPECT_GE(fleet.ledger.last_without, failover.at);
    EXPECT_LE(fleet.ledger.last_without, failover.at + failover.detected + kRecovery);
}

INSTANTIATE_TEST_SUITE_P(
    , FailoverOfNodes,
    testing::Values(FailoverCase{"without_lag", {.at = 2'600ms}},
                    FailoverCase{"with_lag", {.at = 2'600ms, .lag = 200ms}},
                    FailoverCase{"of_a_thousand", {.at = 2'600ms, .lag = 200ms}, 1'000},
                    FailoverCase{"with_split_brain",
                                 {.at = 2'600ms, .lag = 50ms, .minority = 6, .detected = 800ms}},
                    FailoverCase{"with_split_brain_over_a_window",
                                 {.at = 3'600ms, .minority = 6, .detected = 800ms}}),
    [](const auto& info) { return std::string(info.param.name); });

// --- other faults

TEST(FaultsOfNodes, ACrashCostsTheUnitsThatItHeld) {
    const ManyNodes many{.nodes = 20, .keys = 2, .per_second = 8'000, .demand = 1.6, .windows = 5};
    Scenario scenario = scenario_of(many);
    const std::int64_t limit = scenario.rates.front().requests;
    scenario.crashes = true;
    Fleet fleet(scenario, kSeed);
    fleet.run_for(scenario.duration + 1s);
    std::int64_t missing = 0;
    int spent = 0;
    for (const auto& [window, tally] : fleet.ledger.tallies) {
        const auto over = over_of(fleet, tally);
        EXPECT_LE(over, 0) << id_of(window.key);
        if (tally.exceeds(limit)) {
            EXPECT_LE(-over, fleet.ledger.lost[window]) << id_of(window.key);
            missing -= over;
            ++spent;
        }
    }
    EXPECT_GT(spent, 5);
    EXPECT_GT(missing, 0) << "crashes are seen";
    // A node counts ahead what it expects for 100 ms. It may expect more than it gets.
    const double ahead = 1.5 * 0.1 * many.per_second / many.nodes;
    EXPECT_GT(fleet.crashes(), 20);
    EXPECT_LE(static_cast<double>(missing), fleet.crashes() * ahead);
}

TEST(FaultsOfNodes, SlotsThatMoveCostNothing) {
    Scenario scenario =
        scenario_of({.nodes = 20, .keys = 40, .demand = 1.6, .windows = 3, .masters = 4});
    const std::int64_t limit = scenario.rates.front().requests;
    scenario.moves = {.from = 500ms, .every = 50ms, .slots = 80, .lasting = 200ms};
    Fleet fleet(scenario, kSeed);
    fleet.run_for(scenario.duration + 1s);
    EXPECT_EQ(fleet.cluster().moved, 80);
    EXPECT_GT(fleet.redirections(), 80) << "nodes learn it";
    EXPECT_EQ(fleet.ledger.unavailable, 0);
    EXPECT_EQ(fleet.ledger.granted_alone, 0);
    EXPECT_EQ(fleet.ledger.critical, 0);
    int spent = 0;
    for (const auto& [window, tally] : fleet.ledger.tallies) {
        EXPECT_LE(tally.granted, limit) << id_of(window.key);
        if (tally.exceeds(limit)) {
            EXPECT_GE(tally.granted * 100, limit * 99) << id_of(window.key);
            ++spent;
        }
    }
    EXPECT_GT(spent, scenario.keys);
}

}  // namespace
}  // namespace tollgate::engine
