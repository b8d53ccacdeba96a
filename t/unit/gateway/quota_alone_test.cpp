// What a node does with a quota while Redis is out of reach, and what it tells Redis afterwards.

#include <gtest/gtest.h>

#include "module/core/quota_state.hpp"
#include "t/unit/gateway/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(DecideAlone, GrantsTheLimitWhereNothingIsKnown) {
    Node node({{10, 10s}});
    EXPECT_EQ(node.granted_alone(20), 10);
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
}

TEST(DecideAlone, CountsOnFromWhatRedisToldLast) {
    Node node({{10, 10s}, {12, 60s}});
    node.take_in({{.count = 3}, {.count = 6}});
    EXPECT_EQ(node.granted_alone(20), 6) << "what the longer window has left";
    EXPECT_EQ(node.windows()[0].remaining, 1);
    EXPECT_EQ(node.windows()[1].remaining, 0);
}

TEST(DecideAlone, GrantsInAllTablesOrInNone) {
    Node node(Quotas{api({{10, 10s}}), search({{4, 10s}})});
    EXPECT_EQ(node.granted_alone(20), 4);
    EXPECT_EQ(node.windows()[0].remaining, 6);
}

TEST(DecideAlone, StartsEachWindowAnew) {
    Node node({{10, 10s}, {100, 60s}});
    node.take_in({{.count = 3}, {.count = 50}});
    EXPECT_EQ(node.granted_alone(20), 7);
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(20), 10);
    node.now += 20s;
    EXPECT_EQ(node.granted_alone(20), 10);
    EXPECT_EQ(node.windows()[1].remaining, 100 - 50 - 27);
}

TEST(DecideAlone, StartsNoWindowBeforeItsTimeForCertain) {
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
    node.take_in({{.count = 5}}, 3);
    EXPECT_EQ(node.granted_alone(3), 3);
    EXPECT_FALSE(may_need_settling(node.states)) << "they are counted";
    EXPECT_EQ(node.granted_alone(20), 5);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 5}}));
}

TEST(DecideAlone, UsesWhatIsLeftOfALeaseForAHigherCost) {
    Node node({{10, 10s}});
    node.take_in({{.count = 5}}, 3);
    node.demand.cost = 4;
    EXPECT_EQ(node.granted_alone(20), 2);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 5}}));
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
    node.take_in({{}}, 2, banned(kStart + 5s));
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

TEST(DecideAlone, RemembersTheWindowBeforeWhereWindowsSlide) {
    Node node({{10, 10s}}, true);
    EXPECT_EQ(node.granted_alone(20), 10);
    node.now += 10s;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    node.now += 5s;
    EXPECT_EQ(node.granted_alone(20), 5);
}

TEST(DecideAlone, CountsNothingOfALeaseThatAWindowLeftUnspent) {
    Node node({{10, 10s}}, true);
    node.take_in({{.count = 10}}, 8);
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(20), 8);
}

TEST(DecideAlone, HoldsForTheLargestLimitAndPeriod) {
    const std::int64_t most = 1'000'000'000'000;
    Node node({{most, 366 * 24h}}, true);
    node.take_in({{.count = 1, .previous = most}});
    node.demand.cost = most;
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    node.now += 366 * 24h;
    EXPECT_EQ(node.granted_alone(2), 0);
    node.now += 2 * 366 * 24h;
    EXPECT_EQ(node.granted_alone(2), 1);
    EXPECT_EQ(node.ask().adjustments.front().units, most);
}

TEST(Prepare, TellsEachWindowWhatWasGrantedAlone) {
    Node node({{10, 10s}, {100, 60s}});
    node.take_in({{.count = 3}, {.count = 50}});
    node.granted_alone(4);
    node.now += 10s;
    node.granted_alone(6);
    EXPECT_TRUE(needs_settling(node.states, node.moment()));
    EXPECT_EQ(node.ask().adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 6}, Adjustment{kFirst60s, 10}}));
    EXPECT_FALSE(may_need_settling(node.states));
}

TEST(Prepare, LeavesWhatIsOnItsWayCounted) {
    Node node({{10, 10s}});
    EXPECT_EQ(node.granted_alone(20), 10);
    const auto trial = node.ask();
    EXPECT_EQ(node.remaining(), 0);
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    node.restore(trial);
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 10}}));
}

TEST(Restore, KeepsCountsAsTheyAreHoweverOftenItIsTried) {
    Node node({{10, 10s}, {30, 60s}});
    node.take_in({{.count = 1}, {.count = 1}});
    node.granted_alone(4);
    const auto before = node.states;
    for (int i = 0; i < 100; ++i) {
        node.restore(node.ask());
    }
    EXPECT_EQ(node.states[0].windows, before[0].windows);
    const auto first = node.ask();
    EXPECT_EQ(node.granted_alone(2), 2);
    const auto second = node.ask();
    node.restore(first);
    node.restore(second);
    EXPECT_EQ(node.remaining(), 3);
    EXPECT_EQ(node.ask().adjustments,
              (std::vector{Adjustment{kFirst10s, 6}, Adjustment{kFirst60s, 6}}));
}

TEST(Restore, OwesNothingToAWindowThatEndedMeanwhile) {
    Node node({{10, 10s}, {30, 60s}});
    node.granted_alone(4);
    const auto trial = node.ask();
    node.now += 10s;
    node.granted_alone(1);
    node.restore(trial);
    EXPECT_EQ(node.windows()[0].remaining, 9);
    EXPECT_EQ(node.windows()[1].remaining, 25);
    EXPECT_EQ(node.ask().adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 1}, Adjustment{kFirst60s, 5}}));
}

TEST(Restore, CountsWhatIsOwedWhereRedisToldMeanwhile) {
    Node node({{10, 10s}});
    node.granted_alone(4);
    const auto lost = node.ask();
    node.now += 1ms;
    node.take_in({{.count = 2}});
    node.restore(lost);
    EXPECT_EQ(node.remaining(), 4);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 4}}));
}

TEST(Restore, LosesWhatWasGivenBackForItMayHaveArrived) {
    Node node({{100, 10s}});
    node.take_in({{.count = 20}}, 8);
    node.now += 2s;
    const auto lost = node.ask();
    EXPECT_EQ(lost.adjustments, (std::vector{Adjustment{kFirst10s, -8}}));
    EXPECT_EQ(node.remaining(), 88);
    node.restore(lost);
    EXPECT_EQ(node.remaining(), 80);
    EXPECT_FALSE(may_need_settling(node.states));
}

TEST(Restore, PutsStrikesBack) {
    Node node({{1, 10s}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    node.decide_alone();
    const auto lost = node.ask();
    node.decide_alone();
    node.restore(lost);
    EXPECT_EQ(node.ask().strikes, 2);
}

}  // namespace
}  // namespace tollgate
