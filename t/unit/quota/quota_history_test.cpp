// What a node reports of the days of a history: units of a day that has ended are neither lost nor
// counted in another day.

#include <gtest/gtest.h>

#include <array>

#include "t/unit/quota/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

const std::int64_t kToday = window_number(kStart, 24h);
const Instant kTonight = window_end(kToday, 24h);

/// The quota of a plan in a table with a history.
TableQuota with_history(std::vector<Rate> rates, bool sliding = false) {
    PlanTable table;
    table.name = "api";
    table.history = std::chrono::days(90);
    table.plans = {{.name = "free",
                    .kind = rates.empty() ? Plan::Kind::kUnlimited : Plan::Kind::kLimited,
                    .rates = std::move(rates),
                    .sliding = sliding}};
    KeyRecord record;
    record.plan = "free";
    return choose_quotas(std::array<const PlanTable*, 1>{&table}, record)->front();
}

/// A node a second before the end of the day.
Node late_node(std::vector<Rate> rates, bool sliding = false) {
    Node node(Quotas{with_history(std::move(rates), sliding)});
    node.now = kTonight - 1s;
    return node;
}

TEST(QuotaHistory, CountsADayThatIsNotShown) {
    Node node = late_node({{10, 60s}});
    node.apply_reply({{.count = 4}, {.count = 4'000'000'000'000}});
    ASSERT_EQ(node.windows().size(), 1);
    EXPECT_EQ(node.remaining(), 6);
    EXPECT_EQ(node.granted_alone(20), 6) << "the day refuses nothing";
    EXPECT_EQ(node.windows(true).size(), 1);
}

TEST(QuotaHistory, OfAnUnlimitedPlanRefusesNothing) {
    Node node = late_node({});
    EXPECT_TRUE(node.windows().empty());
    node.share_among(100);
    EXPECT_EQ(node.granted_alone(1000), 1000);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kToday, 1000}}));
}

TEST(QuotaHistory, GivesALeaseBackToItsDay) {
    Node node = late_node({{1000, 60s}});
    node.apply_reply({{.count = 50}, {.count = 50}}, 40);
    node.arrive();
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    node.now = kTonight + 5s;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "a lease ends with the day";
    EXPECT_TRUE(node.needs_settling());
    const auto prepared = node.ask(0);
    ASSERT_EQ(prepared.adjustments.size(), 2);
    EXPECT_EQ(prepared.adjustments[0].units, 0) << "of the minute";
    EXPECT_EQ(prepared.adjustments[1], (Adjustment{kToday, -39}));
    EXPECT_EQ(prepared.report_numbers, std::vector<std::uint64_t>{0});
    node.apply_reply({{}, {}}, 0, {}, {}, prepared);
    EXPECT_EQ(node.counts().returned, 39);
    EXPECT_EQ(node.counts().lost, 0);
    EXPECT_FALSE(node.is_held());
}

TEST(QuotaHistory, CountsALeaseOfTheDayBeforeAndGrantsOfThisDayApart) {
    Node node = late_node({{1000, 60s}});
    node.apply_reply({{.count = 50}, {.count = 50}}, 40);
    node.now = kTonight + 5s;
    EXPECT_EQ(node.granted_alone(3), 3);
    const auto prepared = node.ask(0);
    ASSERT_EQ(prepared.adjustments.size(), 2);
    EXPECT_EQ(prepared.adjustments[1], (Adjustment{kToday + 1, 3, -40}));
    node.apply_reply({{.count = 3}, {.count = 3}}, 0, {}, {}, prepared);
    EXPECT_FALSE(node.is_held());
    EXPECT_EQ(node.counts(), (UnitCounts{.returned = 40, .noted = 3, .settled = 3}));
}

TEST(QuotaHistory, CountsThemApartAlsoTwoDaysLater) {
    Node node = late_node({{1000, 60s}});
    node.apply_reply({{.count = 50}, {.count = 50}}, 40);
    node.now = kTonight + 5s;
    EXPECT_EQ(node.granted_alone(3), 3);
    node.now += 24h;
    EXPECT_EQ(node.granted_alone(2), 2);
    const auto prepared = node.ask(0);
    node.apply_reply({{.count = 2}, {.count = 2}}, 0, {}, {}, prepared);
    EXPECT_FALSE(node.is_held());
    EXPECT_EQ(node.counts(), (UnitCounts{.returned = 40, .noted = 5, .settled = 5}));
}

TEST(QuotaHistory, DropsTheSameWithoutOne) {
    Node node({{1000, 60s}, {100'000, 24h}});
    node.now = kTonight - 1s;
    node.apply_reply({{.count = 50}, {.count = 50}}, 40);
    node.now = kTonight + 5s;
    EXPECT_TRUE(node.ask(0).adjustments.empty());
    EXPECT_EQ(node.counts().lost, 40);
}

TEST(QuotaHistory, ReportsTheUnitsOfEachDayOfAnOutage) {
    for (const bool sliding : {false, true}) {
        Node node = late_node({{1000, 60s}}, sliding);
        EXPECT_EQ(node.granted_alone(5), 5);
        node.now = kTonight + 1s;
        EXPECT_EQ(node.granted_alone(7), 7);
        const auto prepared = node.ask();
        ASSERT_EQ(prepared.adjustments.size(), 2);
        EXPECT_EQ(prepared.adjustments[1], (Adjustment{kToday + 1, 7, 5}));
        EXPECT_EQ(prepared.report_numbers, std::vector<std::uint64_t>{1});
        node.apply_reply({{.count = 7}, {.count = 7}}, 0, {}, {}, prepared);
        EXPECT_EQ(node.counts().settled, 12);
        EXPECT_FALSE(node.is_held());
    }
}

TEST(QuotaHistory, ReportsAllUnitsOfAnOutageOfSeveralDays) {
    Node node = late_node({{1000, 60s}});
    for (const int units : {5, 6, 7, 8}) {
        EXPECT_EQ(node.granted_alone(units), units);
        node.now += 24h;
    }
    const auto prepared = node.ask();
    EXPECT_EQ(prepared.adjustments[1], (Adjustment{kToday + 3, 8, 18}))
        << "those of earlier days are in the last but one";
    EXPECT_EQ(node.counts().lapsed, 0);
}

TEST(QuotaHistory, SendsAReportOfAnEndedDayAgain) {
    Node node = late_node({{1000, 60s}});
    EXPECT_EQ(node.granted_alone(5), 5);
    const auto first = node.ask();
    node.restore(first);
    node.now = kTonight + 6 * 24h;
    const auto again = node.ask();
    EXPECT_EQ(again.report_numbers, first.report_numbers);
    EXPECT_EQ(again.adjustments[1], (Adjustment{kToday, 5}));
    EXPECT_EQ(node.counts().lapsed, 0);
    node.restore(again);
    node.now = kTonight + 7 * 24h;
    EXPECT_TRUE(node.ask().adjustments.empty()) << "Redis forgets the number of the report";
    EXPECT_EQ(node.counts().lapsed, 5);
}

TEST(QuotaHistory, OwesAgainToTheDay) {
    Node node = late_node({{1000, 60s}});
    node.apply_reply({{.count = 50}, {.count = 50}}, 40);
    node.now = kTonight + 5s;
    const auto prepared = node.ask();
    node.apply_reply({{.count = 3}, {.count = 3}});
    node.restore(prepared, AcquireFailure::kNotApplied);
    EXPECT_EQ(node.ask(0).adjustments[1], (Adjustment{kToday + 1, 0, -40}));
}

TEST(QuotaHistory, GivesALateLeaseBackToItsDay) {
    Node node = late_node({{1000, 60s}});
    node.now = kTonight + 300ms;
    node.apply_reply({{.count = 3}, {.count = 3}});
    node.apply_reply({{.count = 50}, {.count = 50}}, 40, {}, 500ms);
    EXPECT_EQ(node.ask(0).adjustments[1], (Adjustment{kToday + 1, 0, -40}));
}

TEST(QuotaHistory, GivesALeaseBackIfAnotherWorkerSawTheNextDayFirst) {
    Node node = late_node({{1000, 60s}});
    node.apply_reply({{.count = 50}, {.count = 50}}, 40);
    node.now = kTonight + 1s;
    node.apply_reply({{.count = 1}, {.count = 1}});
    EXPECT_EQ(node.ask(0).adjustments[1], (Adjustment{kToday + 1, 0, -40}));
}

TEST(QuotaHistory, KeepsUnitsIfTheClockGoesBack) {
    Node node = late_node({{1000, 60s}});
    node.now = kTonight + 10min;
    EXPECT_EQ(node.granted_alone(5), 5);
    node.now = kTonight - 24h * 3;
    node.apply_reply({{.count = 1}, {.count = 1}});
    EXPECT_EQ(node.ask(0).adjustments[1].units, 5);
    EXPECT_EQ(node.counts().lapsed, 0);
}

}  // namespace
}  // namespace tollgate
