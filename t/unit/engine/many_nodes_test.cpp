// The same demand at 1 to 1,000 nodes, without faults. No window grants more than its limit, and at
// 1.5 times its limit it grants 99 % of it at least. The calls of Redis are those of the formulas
// in module/SIZING.md.

#include "t/unit/engine/many_nodes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <string>
#include <tuple>

namespace tollgate::engine {
namespace {

using namespace std::chrono_literals;

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
        if (tally.exceeds(limit)) {
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

#ifdef __SANITIZE_ADDRESS__
constexpr std::array kNodes{1, 10};  // More take minutes with AddressSanitizer.
#else
constexpr std::array kNodes{1, 10, 100, 1000};
#endif

INSTANTIATE_TEST_SUITE_P(, ManyNodesTest,
                         testing::Combine(testing::ValuesIn(kNodes), testing::ValuesIn(kTraffics),
                                          testing::Values(200us, 5ms, 80ms), testing::Bool()),
                         name_of_test);

/// The figures of a demand that is within its limits.
Figures measure_ample(ManyNodes many) {
    many.demand = 0.5;
    Fleet fleet(scenario_of(many), kSeed);
    const Figures figures = Measurement(fleet).run();
    EXPECT_EQ(figures.refused, 0);
    EXPECT_EQ(figures.under, 0);
    return figures;
}

TEST(CallsOfRedis, WithoutLeasesAreThoseOfTheRateAndTheRoundTrip) {
    constexpr int kNodes = 10;
    for (const auto round_trip : std::initializer_list<Timeline::Time>{200us, 5ms, 80ms}) {
        for (const double rate : {5.0, 50.0, 500.0}) {
            const Figures figures = measure_ample({.nodes = kNodes,
                                                   .keys = 1,
                                                   .per_second = kNodes * rate,
                                                   .round_trip = round_trip,
                                                   .leases = false,
                                                   .windows = rate < 10 ? 20 : 4});
            const double formula = kNodes * acquires_per_second(rate, round_trip);
            const double acquires = figures.calls_per_second - figures.lookups_per_second;
            EXPECT_NEAR(acquires, formula, 0.06 * formula)
                << rate << " a second, round trip " << round_trip.count() << " us";
        }
    }
}

TEST(CallsOfRedis, WithLeasesAreAFewForEachKeyAndNode) {
    for (const double rate : {100.0, 1'000.0}) {
        const ManyNodes many{.nodes = 10, .keys = 1, .per_second = 10 * rate, .windows = 4};
        const Figures figures = measure_ample(many);
        const double horizons = many.nodes * many.per_second / units_in_horizon(many);
        EXPECT_LE(figures.calls_per_second, 1.3 * horizons) << rate << " a second";
        EXPECT_GE(figures.calls_per_second, 0.9 * horizons) << rate << " a second";
    }
}

TEST(CallsOfRedis, LookUpAKeyOncePerNodeAndKeyCache) {
    const ManyNodes many{
        .nodes = 20, .keys = 10, .per_second = 20 * 10 * 20, .windows = 5, .key_cache = 2s};
    const Figures figures = measure_ample(many);
    const double formula = many.nodes * many.keys / 2.0;
    EXPECT_LE(figures.lookups_per_second, formula);
    EXPECT_GE(figures.lookups_per_second, 0.9 * formula);
}

TEST(CallsOfRedis, OfAHotKeyReachOneShard) {
    ManyNodes many{.nodes = 20, .keys = 200, .leases = false, .masters = 4};
    EXPECT_LE(measure_ample(many).busiest_shard, 0.35) << "of even keys";
    many.traffic = Traffic::kZipf;
    const double of_zipf = measure_ample(many).busiest_shard;
    EXPECT_GE(of_zipf, KeyChoice(Traffic::kZipf, many.keys).share(0))
        << "the first key's share, and other keys";
    EXPECT_LE(of_zipf, 0.5);
    many.traffic = Traffic::kHot;
    EXPECT_GE(measure_ample(many).busiest_shard, 0.95) << "all but the look-ups";
}

TEST(ThousandNodes, ShareAHotKeyThatEachLeases) {
    Fleet fleet(scenario_of({.nodes = 1'000, .keys = 1, .per_second = 100'000}), kSeed);
    const Figures figures = Measurement(fleet).run();
    EXPECT_GE(expect_exact(fleet), 2);
    EXPECT_GT(figures.idle, 0) << "units are in leases";
    EXPECT_LE(figures.calls_per_request, 0.3);
}

}  // namespace
}  // namespace tollgate::engine
