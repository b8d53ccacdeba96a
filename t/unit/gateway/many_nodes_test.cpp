// The same demand at 1 to 1,000 nodes, without faults. No window grants more than its limit, and at
// 1.5 times its limit it grants 99 % of it at least. The calls of Redis are those of the formulas
// in module/SIZING.md.

#include "t/unit/gateway/many_nodes.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace tollgate::gateway {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kSeed = 1;

/// Expects what holds without faults. Returns the number of windows that were asked for more than
/// one and a half times their limit.
int expect_exact(const Fleet& fleet) {
    int spent = 0;
    const std::int64_t limit = fleet.scenario().rates.front().requests;
    EXPECT_EQ(fleet.ledger.unauthenticated, 0);
    EXPECT_EQ(fleet.ledger.critical, 0);
    EXPECT_EQ(fleet.ledger.unavailable, 0);
    EXPECT_EQ(fleet.ledger.granted_alone, 0);
    for (const auto& [window, tally] : fleet.ledger.tallies) {
        EXPECT_LE(tally.granted, limit) << id_of(window.key);
        if ((tally.granted + tally.refused) * 2 >= limit * 3) {
            EXPECT_GE(tally.granted * 100, limit * 99)
                << id_of(window.key) << " window " << window.number;
            ++spent;
        }
    }
    return spent;
}

using Parameters = std::tuple<int, Traffic, Timeline::Time, bool>;

std::string name_of_test(const testing::TestParamInfo<Parameters>& info) {
    const auto& [nodes, traffic, round_trip, leases] = info.param;
    std::string name = std::to_string(nodes);
    name.append("_").append(name_of(traffic));
    name.append("_").append(std::to_string(round_trip.count())).append("us");
    return name.append(leases ? "_leases" : "");
}

class ManyNodesTest : public testing::TestWithParam<Parameters> {};

TEST_P(ManyNodesTest, GrantTheLimitAndNeverMore) {
    const auto& [nodes, traffic, round_trip, leases] = GetParam();
    Fleet fleet(scenario_of({.nodes = nodes,
                             .keys = traffic == Traffic::kZipf ? 200 : 20,
                             .traffic = traffic,
                             .round_trip = round_trip,
                             .leases = leases}),
                kSeed);
    const Figures figures = Measurement(fleet).run();
    EXPECT_GE(expect_exact(fleet), 2) << "windows that were asked for more than they have";
    EXPECT_GT(fleet.ledger.lookups, 0);
    EXPECT_LE(fleet.ledger.lookups, nodes * fleet.scenario().keys) << "one for each key and node";
    EXPECT_LE(fleet.ledger.calls - fleet.ledger.lookups, fleet.ledger.requests * 101 / 100)
        << "one acquire for a request, and a few that settle";
    if (!leases) {
        EXPECT_EQ(figures.most_idle, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(, ManyNodesTest,
                         testing::Combine(testing::Values(1, 10, 100, 1000),
                                          testing::ValuesIn(kTraffics),
                                          testing::Values(200us, 5ms, 80ms), testing::Bool()),
                         name_of_test);

}  // namespace
}  // namespace tollgate::gateway
