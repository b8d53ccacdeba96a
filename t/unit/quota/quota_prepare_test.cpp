// What a node sends to Redis besides its requests: leases, reports and strikes.

#include <gtest/gtest.h>

#include "module/quota/owed_units.hpp"
#include "t/unit/quota/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(Arrivals, ExpectWhatCameInTheLastTwoSlots) {
    Arrivals arrivals;
    arrivals.note(1000ms, 5);
    arrivals.note(1099ms, 2);
    EXPECT_EQ(arrivals.expected(1099ms), 7);
    EXPECT_EQ(arrivals.expected(1150ms), 7) << "of the slot before";
    EXPECT_EQ(arrivals.expected(1200ms), 0);
    arrivals.note(1100ms, 3);
    EXPECT_EQ(arrivals.expected(1199ms), 7) << "the larger of both";
    arrivals.note(1300ms, 1);
    EXPECT_EQ(arrivals.expected(1300ms), 1) << "a slot was empty";
}

TEST(Arrivals, AreCountedIfAnotherWorkersClockIsBehind) {
    Arrivals arrivals;
    arrivals.note(1050ms, 5);
    arrivals.note(1100ms, 6);
    arrivals.note(1099ms, 1);
    EXPECT_EQ(arrivals.expected(1100ms), 7);
    EXPECT_EQ(arrivals.expected(1099ms), 7);
}

TEST(Prepare, AsksForALeaseForTheNext100Ms) {
    Node node({{1000, 10s}});
    for (int i = 0; i < 8; ++i) {
        node.arrive();
    }
    EXPECT_EQ(node.ask().lease, 8);
    node.now += 9'950ms;
    for (int i = 0; i < 16; ++i) {
        node.arrive();
    }
    EXPECT_EQ(node.ask().lease, 8) << "the window has 50 ms left";
}

TEST(Prepare, AsksForNoLeaseForFewRequests) {
    Node node({{1000, 10s}});
    for (int i = 0; i < 7; ++i) {
        node.arrive();
    }
    EXPECT_EQ(node.ask().lease, 0);
}

TEST(Prepare, AsksForNoLeaseIfATableHasNoneOrTheCostIsZero) {
    Node node(Quotas{api({{1000, 10s}}), search({{1000, 10s}})});
    for (int i = 0; i < 8; ++i) {
        node.arrive();
    }
    EXPECT_EQ(node.ask().lease, 8);
    node.quotas[1].leases = false;
    EXPECT_EQ(node.ask().lease, 0);
    node.quotas[1].leases = true;
    node.demand.cost = 0;
    EXPECT_EQ(node.ask().lease, 0);
}

TEST(Prepare, AsksForALeaseThatEveryTableWillSpend) {
    Node node(Quotas{api({{1000, 10s}}), search({{1000, 10s}})});
    for (int i = 0; i < 10; ++i) {
        node.arrive();
    }
    // Requests of a location with only the first table.
    node.states[0].arrivals.note(node.moment().steady, 90);
    EXPECT_EQ(node.ask().lease, 10);
}

TEST(Prepare, ReportsNothingIfNothingIsOwed) {
    Node node({{100, 10s}, {1000, 60s}});
    node.apply_reply({{.count = 20}, {.count = 20}}, 5);
    node.arrive();
    node.decide();
    EXPECT_TRUE(node.ask().adjustments.empty());
    EXPECT_EQ(node.states[0].lease, 4) << "it is of use yet";
}

TEST(Prepare, GivesBackALeaseThatWasIdleForASecond) {
    Node node({{100, 10s}});
    node.arrive();
    node.apply_reply({{.count = 20}}, 5);
    node.now += 1099ms;
    EXPECT_FALSE(node.needs_settling());
    EXPECT_TRUE(node.is_held());
    node.now += 1ms;
    EXPECT_TRUE(node.needs_settling());
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, -5}}));
    EXPECT_EQ(node.states[0].lease, 0);
    EXPECT_EQ(node.remaining(), 85) << "as Redis will have it";
    EXPECT_FALSE(node.is_held());
}

TEST(Prepare, GivesBackALeaseToTheWindowsThatOutliveIt) {
    Node node({{100, 10s}, {1000, 60s}});
    node.apply_reply({{.count = 20}, {.count = 20}}, 5);
    node.now += 10s;
    node.arrive();
    const auto adjustments = node.ask().adjustments;
    EXPECT_EQ(adjustments, (std::vector{Adjustment{kFirst10s, 0}, Adjustment{kFirst60s, -5}}));
}

TEST(Prepare, GivesBackALeaseThatIsTooSmallForTheRequest) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 97}}, 5);
    node.demand.cost = 8;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "3 and the lease";
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, -5}}));
}

TEST(Prepare, ReportsStrikesOnce) {
    Node node({{1, 60s}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    node.decide_alone();
    EXPECT_EQ(node.ask().strikes, 1);
    EXPECT_EQ(node.ask().strikes, 0);
}

TEST(Prepare, KeepsStrikesForARequestWithABan) {
    Node node({{1, 60s}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    node.decide_alone();
    node.demand.ban.reset();
    EXPECT_EQ(node.ask().strikes, 0) << "of a location whose tables have no ban";
    node.demand.ban = kBan;
    EXPECT_EQ(node.ask().strikes, 1);
}

TEST(NoteArrivals, DropsStrikesThatNoLongerCount) {
    Node node({{1, 1h}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    node.arrive();
    node.decide_alone();
    node.now += kBan.within - 1s;
    node.arrive();
    EXPECT_EQ(node.states[0].strikes_owed, 1);
    node.now += kBan.within + 1s;
    node.arrive();
    EXPECT_EQ(node.ask().strikes, 0);
}

}  // namespace
}  // namespace tollgate
