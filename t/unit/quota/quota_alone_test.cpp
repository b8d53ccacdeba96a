// How a node uses a quota while Redis is unreachable, and what it reports to Redis afterwards.

#include <gtest/gtest.h>

#include "module/quota/cost_settlement.hpp"
#include "module/quota/owed_units.hpp"
#include "t/unit/quota/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(DecideAlone, GrantsTheLimitIfNothingIsKnown) {
    Node node({{10, 10s}});
    EXPECT_EQ(node.granted_alone(20), 10);
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
}

/// A request of cost 0 is granted, and charged with these units at its end.
void charge_free_request(Node& node, std::int64_t units) {
    node.demand.cost = 0;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kGranted);
    const auto counting = counting_windows(node.states, node.quotas, node.moment());
    settle_cost(node.states, node.quotas, counting, 0, units, false, node.moment());
}

TEST(DecideAlone, AChargeOfAFreeRequestCountsInTheWindowsOfTheRequest) {
    Node node({{10, 10s}, {1000, 60s}});
    node.apply_reply({{.count = 3}, {.count = 6}});
    node.now += 60s;
    charge_free_request(node, 7);
    EXPECT_EQ(node.states[0].windows[0].owed, 7);
    EXPECT_EQ(node.states[0].windows[1].owed, 7);
    EXPECT_EQ(node.counts().lapsed, 0);
}

TEST(DecideAlone, AChargeOfAFreeRequestCountsInTheHistoryOfItsDay) {
    Node node({{1000, 24h}});
    node.quotas[0].history = std::chrono::days(30);
    node.apply_reply({{.count = 3}});
    node.now += 24h;
    charge_free_request(node, 7);
    EXPECT_EQ(node.states[0].windows[0].owed, 7);
    EXPECT_EQ(node.states[0].windows[0].owed_previous, 0);
}

TEST(DecideAlone, ContinuesFromTheLastCountsOfRedis) {
    Node node({{10, 10s}, {12, 60s}});
    node.apply_reply({{.count = 3}, {.count = 6}});
    EXPECT_EQ(node.granted_alone(20), 6) << "what the longer window has left";
    EXPECT_EQ(node.windows()[0].remaining, 1);
    EXPECT_EQ(node.windows()[1].remaining, 0);
}

TEST(DecideAlone, SharesWhatIsLeftAmongTheNodes) {
    Node node({{10, 10s}, {100, 60s}});
    node.apply_reply({{.count = 2}, {.count = 40}});
    node.share_among(4);
    EXPECT_EQ(node.granted_alone(20), 2) << "a quarter of 8";
    EXPECT_EQ(node.remaining(), 0);
    EXPECT_TRUE(node.windows(true)[0].exhausted);
    EXPECT_FALSE(node.windows(true)[1].exhausted);
    EXPECT_EQ(node.windows()[1].remaining, 13) << "a quarter of 60, but for the two";
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(20), 3) << "a quarter of 10, rounded up";
    node.share_among(1);
    EXPECT_EQ(node.granted_alone(20), 7);
}

TEST(DecideAlone, GrantsAtLeastOneUnitOfWhatIsLeft) {
    Node node({{5, 10s}});
    node.apply_reply({{.count = 4}});
    node.share_among(1000);
    EXPECT_EQ(node.granted_alone(20), 1);
    node.apply_reply({{.count = 5}});
    node.share_among(1000);
    EXPECT_EQ(node.granted_alone(20), 0);
}

TEST(DecideAlone, ANodeWithMostOfTheTrafficHasMostOfTheShare) {
    Node node({{10, 10s}, {100, 60s}});
    const auto grant = [&](std::int64_t units, Node::Count first, Node::Count second) {
        Acquired answer{};
        answer.granted = units;
        node.apply_reply({first, second}, 0, answer, {}, node.ask());
    };
    grant(6, {.count = 6}, {.count = 6});
    grant(0, {.count = 0, .ahead = 1}, {.count = 8});
    node.now += 10s;
    node.share_among(4);
    EXPECT_EQ(node.granted_alone(20), 8) << "6 of 8 units of the longest window are its own";
}

TEST(DecideAlone, TheShareCountsLeasesAndWhatIsGivenBack) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 40}}, 40);
    EXPECT_EQ(node.granted_alone(10), 10);
    node.now += 2s;
    const auto returned = node.ask();
    ASSERT_EQ(returned.adjustments, (std::vector{Adjustment{kFirst10s, -30}}));
    node.apply_reply({{.count = 20}}, 0, {}, {}, returned);
    node.share_among(10);
    EXPECT_EQ(node.granted_alone(100), 40) << "10 of 20 units are its own; 80 are left";
}

TEST(DecideAlone, ReportedUnitsAreItsOwn) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 10}});
    EXPECT_EQ(node.granted_alone(10), 10);
    const auto report = node.ask();
    node.apply_reply({{.count = 20}}, 0, {}, {}, report);
    node.share_among(10);
    EXPECT_EQ(node.granted_alone(100), 40);
}

TEST(DecideAlone, IfRedisLosesCountsANodeLosesItsPart) {
    Node node({{100, 10s}});
    Acquired answer{};
    answer.granted = 20;
    node.apply_reply({{.count = 40}}, 0, answer, {}, node.ask());
    node.now += 1s;
    node.apply_reply({{.count = 20}});
    node.share_among(10);
    EXPECT_EQ(node.granted_alone(100), 40) << "10 of 20 units are its own; 80 are left";
}

TEST(DecideAlone, TheShareOfAWindowEndsWithIt) {
    Node node({{100, 10s}});
    Acquired answer{};
    answer.granted = 10;
    node.apply_reply({{.count = 10}}, 0, answer, {}, node.ask());
    node.now += 10s;
    node.share_among(10);
    EXPECT_EQ(node.granted_alone(100), 10);
}

TEST(DecideAlone, GrantsInAllTablesOrInNone) {
    Node node(Quotas{api({{10, 10s}}), search({{4, 10s}})});
    EXPECT_EQ(node.granted_alone(20), 4);
    EXPECT_EQ(node.windows()[0].remaining, 6);
}

TEST(DecideAlone, StartsEachWindowAnew) {
    Node node({{10, 10s}, {100, 60s}});
    node.apply_reply({{.count = 3}, {.count = 50}});
    EXPECT_EQ(node.granted_alone(20), 7);
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(20), 10);
    node.now += 20s;
    EXPECT_EQ(node.granted_alone(20), 10);
    EXPECT_EQ(node.windows()[1].remaining, 100 - 50 - 27);
}

TEST(DecideAlone, StartsAWindowOnlyWhenItHasCertainlyBegun) {
    Node node({{10, 10s}});
    node.granted_alone(20);
    node.now += 10s + 4ms;
    node.uncertainty = 5ms;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    node.uncertainty = 4ms;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kGranted);
}

TEST(DecideAlone, SpendsALeaseFirst) {
    Node node({{10, 10s}});
    node.apply_reply({{.count = 5}}, 3);
    EXPECT_EQ(node.granted_alone(3), 3);
    EXPECT_FALSE(node.is_held()) << "they are counted";
    EXPECT_EQ(node.granted_alone(20), 5);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 5}}));
}

TEST(DecideAlone, UsesWhatIsLeftOfALeaseForAHigherCost) {
    Node node({{10, 10s}});
    node.apply_reply({{.count = 5}}, 3);
    node.demand.cost = 4;
    EXPECT_EQ(node.granted_alone(20), 2);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 5}}));
}

TEST(DecideAlone, KeepsALeaseThatAnotherTableCannotUse) {
    Node node(Quotas{api({{100, 10s}}), search({{4, 10s}})});
    node.ask();
    node.apply_reply({{.count = 50}, {.count = 4}});
    node.states[0].lease = 20;
    node.arrive();
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited) << "search is spent";
    EXPECT_EQ(node.states[0].lease, 20);
    EXPECT_EQ(node.counts().lost, 0);
    EXPECT_TRUE(node.ask().adjustments.empty()) << "nothing is given back, which could be lost";
}

TEST(DecideAlone, GrantsBesideALeaseThatOneTableHas) {
    Node node(Quotas{api({{100, 10s}}), search({{60, 10s}})});
    node.apply_reply({{.count = 50}, {.count = 4}});
    node.states[0].lease = 20;
    EXPECT_EQ(node.granted_alone(50), 50) << "what api has beside its lease";
    EXPECT_EQ(node.states[0].lease, 20);
    EXPECT_EQ(node.granted_alone(100), 6) << "of its lease, until search is spent";
    EXPECT_EQ(node.states[0].lease, 0);
    EXPECT_EQ(node.windows()[0].remaining, 14);
}

TEST(DecideAlone, GrantsWhatCostsNothing) {
    Node node({{10, 10s}});
    node.granted_alone(20);
    node.demand.cost = 0;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kGranted);
}

TEST(DecideAlone, HoldsABanUntilItEnds) {
    Node node({{10, 10s}});
    node.demand.ban = kBan;
    node.apply_reply({{}}, 2, banned(kStart + 5s));
    node.now += 4'999ms;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kBanned);
    node.now += 1ms;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kGranted);
}

TEST(DecideAlone, CountsStrikesForRedis) {
    Node node({{1, 10s}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    }
    node.demand.refusals_strike = false;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    EXPECT_EQ(node.ask().strikes, 7);
}

TEST(DecideAlone, CountsOnlyRefusalsOfTablesByIdAsStrikes) {
    Node node(Quotas{api({{2, 10s}}), search({{1, 10s}})});
    node.demand.ban = kBan;
    node.quotas[1].by = CountedBy::kValue;
    EXPECT_EQ(node.granted_alone(3), 1);
    EXPECT_EQ(node.states[0].ban.strikes, 0);
    node.demand.cost = 2;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    EXPECT_EQ(node.states[0].ban.strikes, 1);
    node.demand.cost = 1;
    node.demand.ban->all_strike = true;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    EXPECT_EQ(node.states[0].ban.strikes, 2);
}

TEST(DecideAlone, RemembersTheWindowBeforeWhereWindowsSlide) {
    Node node({{10, 10s}}, true);
    EXPECT_EQ(node.granted_alone(20), 10);
    node.now += 10s;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    node.now += 5s;
    EXPECT_EQ(node.granted_alone(20), 5);
}

TEST(DecideAlone, DoesNotCountTheUnspentLeaseOfAnEndedWindow) {
    Node node({{10, 10s}}, true);
    node.apply_reply({{.count = 10}}, 8);
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(20), 8);
}

TEST(DecideAlone, HoldsForTheLargestLimitAndPeriod) {
    const std::int64_t most = 1'000'000'000'000;
    Node node({{most, 366 * 24h}}, true);
    node.apply_reply({{.count = 1, .previous = most}});
    node.demand.cost = most;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    node.now += 366 * 24h;
    EXPECT_EQ(node.granted_alone(2), 0);
    node.now += 2 * 366 * 24h;
    EXPECT_EQ(node.granted_alone(2), 1);
    EXPECT_EQ(node.ask().adjustments.front().units, most);
}

TEST(Prepare, ReportsTheUnitsGrantedAloneToEachWindow) {
    Node node({{10, 10s}, {100, 60s}});
    node.apply_reply({{.count = 3}, {.count = 50}});
    node.granted_alone(4);
    node.now += 10s;
    node.granted_alone(6);
    EXPECT_TRUE(node.needs_settling());
    EXPECT_EQ(node.ask().adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 6}, Adjustment{kFirst60s, 10}}));
    EXPECT_TRUE(node.needs_settling()) << "until it is acknowledged";
}

TEST(Prepare, KeepsCountingUnitsOfAReportUnderWay) {
    Node node({{10, 10s}});
    EXPECT_EQ(node.granted_alone(20), 10);
    const auto trial = node.ask();
    EXPECT_EQ(node.remaining(), 0);
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    node.restore(trial);
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 10}}));
}

TEST(Report, IsSentUnchangedUntilItIsAcknowledged) {
    Node node({{10, 10s}, {30, 60s}});
    node.apply_reply({{.count = 1}, {.count = 1}});
    node.granted_alone(4);
    const auto first = node.ask();
    EXPECT_EQ(first.report_numbers, (std::vector<std::uint64_t>{1}));
    node.restore(first);
    EXPECT_EQ(node.granted_alone(2), 2);
    for (int i = 0; i < 3; ++i) {
        const auto again = node.ask();
        EXPECT_EQ(again.adjustments, first.adjustments);
        EXPECT_EQ(again.report_numbers, first.report_numbers);
        EXPECT_EQ(node.remaining(), 3) << "what is on its way counts";
        node.restore(again);
    }
    node.apply_reply({{.count = 5}, {.count = 5}}, 0, {}, 0ms, first);
    EXPECT_EQ(node.remaining(), 3);
    const auto second = node.ask();
    EXPECT_EQ(second.report_numbers, (std::vector<std::uint64_t>{2}));
    EXPECT_EQ(second.adjustments,
              (std::vector{Adjustment{kFirst10s, 2}, Adjustment{kFirst60s, 2}}));
    node.apply_reply({{.count = 7}, {.count = 7}}, 0, {}, 0ms, second);
    EXPECT_FALSE(node.is_held());
    EXPECT_EQ(node.counts(), (UnitCounts{.noted = 6, .settled = 6}));
}

TEST(Report, IsAcknowledgedOnceByTwoReplies) {
    Node node({{10, 10s}});
    node.granted_alone(4);
    const auto first = node.ask();
    const auto second = node.ask();
    node.apply_reply({{.count = 4}}, 0, {}, 0ms, second);
    node.granted_alone(1);
    node.apply_reply({{.count = 4}}, 0, {}, 0ms, first);
    EXPECT_EQ(node.counts(), (UnitCounts{.noted = 5, .settled = 4}));
    EXPECT_EQ(node.remaining(), 5);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 1}}));
}

TEST(Report, IsStillCountedAfterAReplyWithoutIt) {
    Node node({{10, 10s}});
    node.granted_alone(4);
    const auto lost = node.ask();
    node.now += 1ms;
    node.apply_reply({{.count = 2}});
    node.restore(lost);
    EXPECT_EQ(node.remaining(), 4);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 4}}));
}

TEST(Report, IsDroppedWhenAllItsWindowsHaveEnded) {
    Node node({{10, 10s}, {30, 60s}});
    node.granted_alone(4);
    node.restore(node.ask());
    node.now += 10s;
    node.granted_alone(1);
    EXPECT_EQ(node.windows()[0].remaining, 9);
    EXPECT_EQ(node.windows()[1].remaining, 25);
    const auto first = node.ask();
    EXPECT_EQ(first.adjustments, (std::vector{Adjustment{kFirst10s, 4}, Adjustment{kFirst60s, 4}}));
    node.now += 60s;
    EXPECT_TRUE(node.ask().adjustments.empty());
    EXPECT_FALSE(node.is_held());
    EXPECT_EQ(node.counts(), (UnitCounts{.noted = 5, .lapsed = 5}));
}

TEST(Report, IsNotMadeIfThereIsNoRoomForIt) {
    Node node({{10, 10s}});
    node.granted_alone(4);
    EXPECT_TRUE(prepare(node.states, node.quotas, node.demand, 1, 0, node.moment(), nullptr)
                    .adjustments.empty());
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 4}}));
}

TEST(Report, IncludesThePreviousSlidingWindow) {
    Node node({{20, 10s}}, true);
    EXPECT_EQ(node.granted_alone(20), 20);
    node.now += 10s;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited) << "at the boundary";
    node.now += 5s;
    EXPECT_EQ(node.granted_alone(3), 3);
    const auto report = node.ask();
    EXPECT_EQ(report.adjustments, (std::vector{Adjustment{kFirst10s + 1, 3, 20}}));
    EXPECT_EQ(node.remaining(), 7);
    node.apply_reply({{.count = 3, .previous = 20}}, 0, {}, 0ms, report);
    EXPECT_EQ(node.remaining(), 7);
    EXPECT_EQ(node.counts(), (UnitCounts{.noted = 23, .settled = 23}));
}

TEST(Report, FollowsASlidingWindowOverItsBoundary) {
    Node node({{20, 10s}}, true);
    EXPECT_EQ(node.granted_alone(20), 20);
    node.restore(node.ask());
    node.now += 15s;
    EXPECT_EQ(node.granted_alone(20), 10) << "half of it counts yet";
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 20}}));
}

TEST(Restore, OwesUnitsAgainThatRedisRefused) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 20}}, 8);
    node.now += 2s;
    node.restore(node.ask(), AcquireFailure::kNotApplied);
    EXPECT_EQ(node.remaining(), 88);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, -8}}));
    EXPECT_EQ(node.counts().lost, 0);
}

TEST(Counts, ALeaseCancelsOwedUnits) {
    Node node({{10, 10s}});
    node.granted_alone(5);
    node.states[0].lease = 3;
    return_leases(node.states, node.quotas);
    EXPECT_EQ(node.counts(), (UnitCounts{.returned = 3, .noted = 5, .settled = 3}));
    const auto report = node.ask();
    EXPECT_EQ(report.adjustments, (std::vector{Adjustment{kFirst10s, 2}}));
    node.apply_reply({{.count = 5}}, 0, {}, 0ms, report);
    EXPECT_EQ(node.counts(), (UnitCounts{.returned = 3, .noted = 5, .settled = 5}));
}

TEST(Counts, AllUnitsOfALeaseAreAccountedFor) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 20}}, 8);
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    node.now += 20s;
    node.ask();
    EXPECT_EQ(node.counts(), (UnitCounts{.spent = 1, .lost = 7})) << "lapsed with its window";
}

TEST(KeepUnused, PutsUnitsOfRequestsThatHaveLeftIntoTheLease) {
    Node node({{10, 10s}});
    node.apply_reply({{.count = 6}});
    Acquired acquired{.now = node.now, .granted = 3, .windows = {{kFirst10s, 6, 0}}};
    keep_unused(node.states, node.quotas, acquired, 2, 1);
    EXPECT_EQ(node.states[0].lease, 2);
    EXPECT_EQ(node.remaining(), 6);
    node.quotas[0].lease_time = 0ms;
    keep_unused(node.states, node.quotas, acquired, 1, 1);
    EXPECT_EQ(node.states[0].lease, 0);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, -3}}));
}

TEST(Restore, LosesReturnedUnitsThatMayHaveArrived) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 20}}, 8);
    node.now += 2s;
    const auto lost = node.ask();
    EXPECT_EQ(lost.adjustments, (std::vector{Adjustment{kFirst10s, -8}}));
    EXPECT_EQ(node.remaining(), 88);
    node.restore(lost);
    EXPECT_EQ(node.remaining(), 80);
    EXPECT_FALSE(node.is_held());
}

TEST(Restore, PutsStrikesBack) {
    Node node({{1, 10s}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    node.decide_alone();
    const auto lost = node.ask();
    node.decide_alone();
    node.restore(lost, AcquireFailure::kNotApplied);
    EXPECT_EQ(node.ask().strikes, 2);
}

TEST(Restore, DropsStrikesThatRedisMayHaveCounted) {
    Node node({{1, 10s}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    node.decide_alone();
    const auto lost = node.ask();
    EXPECT_EQ(lost.strikes, 1);
    node.restore(lost, AcquireFailure::kUnknown);
    EXPECT_EQ(node.ask().strikes, 0);
}

TEST(Restore, KeepsTheTimeOfTheFirstStrike) {
    Node node({{1, 10s}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    node.decide_alone();
    const auto lost = node.ask();
    const SteadyTime first = lost.struck_since;
    node.now += 2s;
    node.decide_alone();
    node.restore(lost, AcquireFailure::kNotApplied);
    EXPECT_EQ(node.ask().struck_since, first);
}

}  // namespace
}  // namespace tollgate
