// The history of a table at several nodes, over the end of a day: the units of its days are those
// that were granted, also with leases and outages.

#include <gtest/gtest.h>

#include <map>

#include "t/unit/engine/fleet.hpp"
#include "t/unit/engine/many_nodes.hpp"

namespace tollgate::engine {
namespace {

using namespace std::chrono_literals;

/// The end of a day.
constexpr Instant kMidnight = std::chrono::sys_days(std::chrono::year(2028) / 3 / 1);
constexpr std::int64_t kLastDay = window_number(kMidnight - 1ms, 24h);

/// Three nodes, from ten seconds before the end of a day. `rates` may be changed.
Scenario over_midnight(std::string name, std::vector<Rate> rates) {
    return {.name = std::move(name),
            .nodes = 3,
            .keys = 3,
            .per_second = 60,
            .rates = std::move(rates),
            .workers = 2,
            .duration = 25s,
            .beginning = kMidnight - 10s,
            .history = std::chrono::days(90)};
}

Scenario with_outage(Scenario scenario, double executed, int nodes = 3) {
    scenario.name += nodes < 3 ? "_and_outage_of_one" : "_and_outage";
    scenario.name += executed > 0 ? "_of_replies" : "";
    scenario.outage = {.from = 6s, .to = 16s, .nodes = nodes, .executed = executed};
    return scenario;
}

Scenario in_cluster(Scenario scenario) {
    scenario.name += "_in_a_cluster";
    scenario.masters = 3;
    scenario.moves = {.from = 5s, .every = 2s, .slots = 6, .lasting = 500ms};
    return scenario;
}

Scenario that_slides(Scenario scenario) {
    scenario.name += "_sliding";
    scenario.sliding = true;
    return scenario;
}

Scenario without_leases(Scenario scenario) {
    scenario.name += "_without_leases";
    scenario.leases = false;
    return scenario;
}

const std::vector<Rate> kMinute{{3'000, 60s}};
const std::vector<Rate> kSpent{{300, 60s}};
const std::vector<Rate> kDay{{600, 60s}, {1'000'000, 24h}};
const std::vector<Rate> kWeek{{1'000'000, 7 * 24h}};
const std::vector<Rate> kMonth{{3'000, 60s}, {1'000'000, Period::month()}};
const std::vector<Rate> kFour{{1'000, 1s}, {3'000, 60s}, {100'000, 1h}, {1'000'000, 48h}};

/// The units of a day that Redis counted and no request was granted: their reply is lost.
std::int64_t units_lost(const Fleet& fleet, int key, std::int64_t day) {
    const FleetSettings settings(fleet.scenario());
    KeyRecord record;
    record.plan = "free";
    const Quotas quotas = *choose_quotas(settings.set, record);
    const auto of_day = std::ranges::find(quotas.front().rates, Period(24h), &Rate::period);
    const auto index = static_cast<std::size_t>(of_day - quotas.front().rates.begin());
    const auto units = fleet.ledger.lost.find({key, index, day});
    return units == fleet.ledger.lost.end() ? 0 : units->second;
}

class HistoryOfNodes : public testing::TestWithParam<Scenario> {};

TEST_P(HistoryOfNodes, HasWhatWasGrantedInEachDay) {
    for (const unsigned seed : {1U, 2U, 3U}) {
        Fleet fleet(GetParam(), seed);
        fleet.run_for(GetParam().duration + 5s);
        EXPECT_EQ(fleet.ledger.critical, 0);
        std::int64_t granted = 0;
        for (int key = 0; key < GetParam().keys; ++key) {
            auto history = fleet.history(key);
            EXPECT_EQ(history.size(), 2) << "days";
            for (const std::int64_t day : {kLastDay, kLastDay + 1}) {
                const std::int64_t units = fleet.ledger.granted_in_day[{key, day}];
                EXPECT_EQ(history[day], units + units_lost(fleet, key, day))
                    << id_of(key) << " in day " << day - kLastDay << ", seed " << seed;
                EXPECT_GT(units, 50);
                granted += units;
            }
        }
        EXPECT_EQ(granted, fleet.ledger.granted);
        const bool loses_leases = GetParam().outage.executed > 0 && GetParam().leases;
        EXPECT_TRUE(loses_leases || fleet.ledger.taken_back == 0);
        EXPECT_TRUE(fleet.ledger.taken_back > 0 || !loses_leases || GetParam().rates != kMinute);
        EXPECT_EQ(fleet.ledger.granted_alone > 0, GetParam().outage.nodes > 0);
    }
}

TEST(HistoryOfCrashingNodes, HasNoLess) {
    Scenario scenario = over_midnight("crashing", kMinute);
    scenario.crashes = true;
    Fleet fleet(scenario, kSeed);
    fleet.run_for(scenario.duration + 5s);
    EXPECT_GT(fleet.crashes(), 20);
    for (int key = 0; key < scenario.keys; ++key) {
        auto history = fleet.history(key);
        for (const std::int64_t day : {kLastDay, kLastDay + 1}) {
            const std::int64_t units = fleet.ledger.granted_in_day[{key, day}];
            EXPECT_GE(history[day], units);
            EXPECT_LE(history[day], units + units_lost(fleet, key, day));
            EXPECT_GT(units, 50);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    , HistoryOfNodes,
    testing::Values(over_midnight("minute", kMinute), over_midnight("spent", kSpent),
                    over_midnight("day", kDay), over_midnight("week", kWeek),
                    over_midnight("month", kMonth), over_midnight("four", kFour),
                    over_midnight("unlimited", {}), that_slides(over_midnight("minute", kMinute)),
                    that_slides(over_midnight("day", kDay)),
                    without_leases(over_midnight("minute", kMinute)),
                    in_cluster(over_midnight("minute", kMinute)),
                    with_outage(over_midnight("minute", kMinute), 0),
                    with_outage(over_midnight("minute", kMinute), 0.5),
                    with_outage(over_midnight("minute", kMinute), 0, 1),
                    with_outage(in_cluster(over_midnight("minute", kMinute)), 0),
                    with_outage(in_cluster(over_midnight("minute", kMinute)), 0.5),
                    with_outage(over_midnight("spent", kSpent), 0.5),
                    with_outage(over_midnight("day", kDay), 0.5),
                    with_outage(over_midnight("week", kWeek), 0.5),
                    with_outage(over_midnight("month", kMonth), 0.5),
                    with_outage(over_midnight("four", kFour), 0.5),
                    with_outage(over_midnight("unlimited", {}), 0),
                    with_outage(over_midnight("unlimited", {}), 0.5),
                    with_outage(without_leases(over_midnight("minute", kMinute)), 0.5),
                    with_outage(that_slides(over_midnight("minute", kMinute)), 0.5),
                    with_outage(that_slides(over_midnight("day", kDay)), 0.5)),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tollgate::engine
