// What a node sends to Redis besides its requests: leases, reports and strikes.

#include <gtest/gtest.h>
#include <array>

#include "module/quota/owed_units.hpp"
#include "module/quota/quota_windows.hpp"
#include "t/unit/quota/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

/// Notes requests that come at an even rate, for this time.
void arrive_evenly(Arrivals& arrivals, SteadyTime& now, double per_second, SteadyTime time,
                   SteadyTime constant) {
    const double steps = static_cast<double>(time.count()) / 1000 * per_second;
    const SteadyTime start = now;
    for (int i = 1; i <= static_cast<int>(steps); ++i) {
        now = start + std::chrono::floor<SteadyTime>(std::chrono::duration<double>(i / per_second));
        arrivals.note(now, 1, constant);
    }
}

TEST(Arrivals, PredictAnyRate) {
    for (const double rate : {2.0, 20.0, 2'000.0, 20'000.0}) {
        Arrivals arrivals;
        SteadyTime now{1'000'000};
        arrive_evenly(arrivals, now, rate, 10s, 1s);
        // Requests at even distances: half a request more than the mean of Poisson arrivals.
        EXPECT_NEAR(arrivals.at(now, 1s), rate + 0.5, 0.02 * rate + 0.1) << rate << " a second";
        arrive_evenly(arrivals, now, rate / 2, 10s, 1s);
        EXPECT_NEAR(arrivals.at(now, 1s), rate / 2 + 0.5, 0.02 * rate + 0.1) << "half of it";
    }
}

TEST(Arrivals, DecayInTheTimeConstant) {
    Arrivals arrivals;
    arrivals.note(1000ms, 100, 50ms);
    EXPECT_FLOAT_EQ(static_cast<float>(arrivals.at(1000ms, 50ms)), 100);
    EXPECT_NEAR(arrivals.at(1050ms, 50ms), 36.8, 0.1);
    arrivals.note(1050ms, 10, 50ms);
    EXPECT_NEAR(arrivals.at(1050ms, 50ms), 46.8, 0.1);
    EXPECT_LT(arrivals.at(3000ms, 50ms), 1e-3);
    EXPECT_EQ(arrivals.last, 1050ms);
    arrivals.note(2000ms, 0, 50ms);
    EXPECT_EQ(arrivals.last, 1050ms) << "a request that asks for nothing needs no lease";
}

TEST(Arrivals, AreCountedIfAnotherWorkersClockIsBehind) {
    Arrivals arrivals;
    arrivals.note(1100ms, 6, 1s);
    arrivals.note(1099ms, 1, 1s);
    EXPECT_EQ(arrivals.last, 1100ms);
    EXPECT_EQ(arrivals.at(1100ms, 1s), 7);
    EXPECT_EQ(arrivals.at(1099ms, 1s), 7);
}

TEST(LeaseHorizon, IsATwentiethOfTheShortestWindowWithoutItsLastSecond) {
    EXPECT_EQ(lease_horizon(api({{100, 1s}, {1000, 1h}})), 50ms) << "at least";
    EXPECT_EQ(lease_horizon(api({{100, 2s}})), 50ms);
    EXPECT_EQ(lease_horizon(api({{100, 11s}})), 500ms);
    EXPECT_EQ(lease_horizon(api({{100, 1min}})), 2'950ms);
    TableQuota day = api({{1000, 24h}});
    EXPECT_EQ(lease_horizon(day), 3s) << "at most";
    day.lease_time = 5s;
    EXPECT_EQ(lease_horizon(day), 5s) << "or lease=";
    EXPECT_EQ(lease_returns_within(day), 10'500ms);
}

TEST(RenewalWait, IsATenthOfTheShortestHorizon) {
    EXPECT_EQ(renewal_wait({api({{100, 1min}}), search({{100, 1s}})}), 5ms);
    EXPECT_EQ(renewal_wait({api({{100, 3s}})}), 10ms);
    EXPECT_EQ(renewal_wait({api({{100, 1min}})}), kMostRenewalWait) << "at most";
}

TEST(Prepare, AsksForALeaseForTheHorizon) {
    Node node({{1000, 60s}});
    for (int i = 0; i < 9; ++i) {
        node.arrive();
    }
    EXPECT_EQ(node.ask().lease, 8) << "without the request that the acquire decides";
    EXPECT_EQ(node.ask(5).lease, 4);
    EXPECT_EQ(node.ask(0).lease, 0) << "a report";
    node.now += 60s - lease_horizon(node.quotas[0]) / 2;
    for (int i = 0; i < 17; ++i) {
        node.arrive();
    }
    EXPECT_EQ(node.ask().lease, 8) << "the window has half of the horizon left";
}

TEST(Prepare, AsksForALeaseIfItExpectsTwoRequests) {
    Node node({{1000, 60s}});
    node.demand.cost = 5;
    node.arrive();
    node.arrive();
    EXPECT_EQ(node.ask().lease, 0);
    node.arrive();
    EXPECT_EQ(node.ask().lease, 10);
}

TEST(Prepare, AsksForNoLeaseIfATableHasNoneOrTheCostIsZero) {
    Node node(Quotas{api({{1000, 60s}}), search({{1000, 60s}})});
    for (int i = 0; i < 9; ++i) {
        node.arrive();
    }
    EXPECT_EQ(node.ask().lease, 8);
    node.quotas[1].lease_time = 0ms;
    EXPECT_EQ(node.ask().lease, 0);
    node.quotas[1].lease_time = kLeaseTime;
    node.demand.cost = 0;
    EXPECT_EQ(node.ask().lease, 0);
}

TEST(Prepare, AsksForALeaseThatEveryTableWillSpend) {
    Node node(Quotas{api({{1000, 60s}}), search({{1000, 60s}})});
    for (int i = 0; i < 11; ++i) {
        node.arrive();
    }
    // Requests of a location with only the first table.
    node.states[0].arrivals.note(node.moment().steady, 90, 1s);
    EXPECT_EQ(node.ask().lease, 10);
}

TEST(Prepare, AsksForALeaseForTheShortestHorizon) {
    Node node(Quotas{api({{1000, 30s}}), search({{1000, 60s}})});
    const auto now = node.moment().steady;
    node.states[0].arrivals.note(now, 50, lease_horizon(node.quotas[0]));
    node.states[1].arrivals.note(now, 200, lease_horizon(node.quotas[1]));
    EXPECT_NEAR(static_cast<double>(node.ask().lease), 49, 1);
}

class Renewal : public testing::Test {
  protected:
    /// Requests of 100 units a second, and a lease of `held` units.
    explicit Renewal(std::vector<Rate> rates = {{10'000, 60s}}) : node(std::move(rates)) {
        node.ask();
        node.apply_reply({{.count = 200}}, 100);
        arrive(100);
    }
    void arrive(std::int64_t per_second) {
        const auto horizon = lease_horizon(node.quotas[0]);
        node.states[0].arrivals = {};
        node.states[0].arrivals.note(node.moment().steady, per_second * horizon / 1s, horizon);
    }
    std::int64_t size_with(std::int64_t held) {
        node.states[0].lease = held;
        return renewal_size(node.states, node.quotas, node.demand, node.moment());
    }

    Node node;
    const std::int64_t whole = 100 * lease_horizon(node.quotas[0]) / 1s;  ///< a lease
};

TEST_F(Renewal, IsDueWhenTheLeaseIsShortAndCompletesIt) {
    const std::int64_t ahead = 100 * kRenewedAhead / 1s;
    EXPECT_EQ(size_with(ahead), 0);
    EXPECT_EQ(size_with(ahead - 1), whole - ahead + 1);
    EXPECT_EQ(size_with(0), whole);
}

TEST_F(Renewal, OfAKeyWithFewRequestsIsDueWhenTheLeaseHasNoUnitForTheNextOne) {
    node.states[0].arrivals.units = 4;
    EXPECT_EQ(size_with(1), 0);
    EXPECT_EQ(size_with(0), 4);
    node.states[0].arrivals.units = 1.9F;
    EXPECT_EQ(size_with(0), 0) << "one request needs no lease";
}

TEST_F(Renewal, IsNotSmallerThanHalfOfTheLease) {
    // prepare() would return the lease.
    node.now += 59'900ms;
    arrive(1000);
    EXPECT_EQ(size_with(66), 34);
    EXPECT_EQ(size_with(68), 0);
}

TEST_F(Renewal, WaitsForACallThatMayBringALease) {
    node.states[0].lease_calls = 1;
    EXPECT_EQ(size_with(0), 0);
}

TEST_F(Renewal, IsNotMadeForAnotherWindowOrAnotherKey) {
    node.demand.changed = node.moment().steady;
    EXPECT_EQ(size_with(0), 0) << "an operator has changed the key since";
    node.demand.changed = {};
    EXPECT_EQ(size_with(0), whole);
    node.now += 60s;
    EXPECT_EQ(size_with(0), 0);
}

TEST_F(Renewal, IsNotMadeIfRedisHasLittleLeft) {
    node.states[0].windows[0].counted.count = 10'000 - 4 * (whole - 5);
    EXPECT_EQ(size_with(5), whole - 5);
    node.states[0].windows[0].counted.count += 1;
    EXPECT_EQ(size_with(5), 0);
}

TEST_F(Renewal, LastsUntilTheWindowEnds) {
    node.now += 59'950ms;
    arrive(100);
    EXPECT_EQ(size_with(5), 0) << "enough for 50 ms";
    EXPECT_EQ(size_with(2), 3);
}

TEST(Prepare, ReportsNothingIfNothingIsOwed) {
    Node node({{100, 10s}, {1000, 60s}});
    node.apply_reply({{.count = 20}, {.count = 20}}, 5);
    node.arrive();
    node.decide();
    EXPECT_TRUE(node.ask().adjustments.empty());
    EXPECT_EQ(node.states[0].lease, 4) << "it is of use yet";
}

/// A node with a lease of 5 units that Redis has just granted.
Node node_with_lease(std::vector<Rate> rates) {
    Node node(std::move(rates));
    node.arrive();
    node.ask();
    node.apply_reply(std::vector<Node::Count>(node.quotas[0].rates.size(), {.count = 20}), 5);
    return node;
}

TEST(Prepare, GivesBackALeaseThatWasIdleForASecond) {
    Node node = node_with_lease({{100, 10s}});
    node.now += 999ms;
    EXPECT_FALSE(node.needs_settling());
    EXPECT_TRUE(node.is_held());
    node.now += 1ms;
    EXPECT_TRUE(node.needs_settling());
    EXPECT_EQ(node.ask(0).adjustments, (std::vector{Adjustment{kFirst10s, -5}}));
    EXPECT_EQ(node.states[0].lease, 0);
    EXPECT_EQ(node.remaining(), 85) << "as Redis will have it";
    EXPECT_FALSE(node.is_held());
}

TEST(Prepare, GivesBackAnOldLeaseOfAKeyThatTrickles) {
    Node node = node_with_lease({{100, 10s}});
    for (int i = 0; i < 2; ++i) {
        node.now += 900ms;
        node.arrive();
        EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
        node.demand.cost = 0;
        node.ask();  // does not make the lease younger
        node.demand.cost = 1;
        EXPECT_FALSE(node.needs_settling());
    }
    node.now += 199ms;
    EXPECT_FALSE(node.needs_settling());
    node.now += 1ms;
    EXPECT_TRUE(node.needs_settling()) << "two seconds after Redis granted it";
    EXPECT_EQ(node.ask(0).adjustments, (std::vector{Adjustment{kFirst10s, -3}}));
}

TEST(Prepare, GrantsAloneFromALeaseThatRedisDidNotTakeBack) {
    Node node({{100, 60s}});
    node.apply_reply({{.count = 40}}, 40);
    return_leases(node.states, node.quotas);
    const auto lost = node.ask(0);
    EXPECT_EQ(lost.adjustments, (std::vector{Adjustment{kFirst60s, -40}}));
    EXPECT_EQ(node.granted_alone(2), 2);
    node.restore(lost, AcquireFailure::kNotApplied);
    const auto prepared = node.ask(0);
    EXPECT_EQ(prepared.adjustments, (std::vector{Adjustment{kFirst60s, -38}}));
    node.apply_reply({{.count = 2}}, 0, {}, {}, prepared);
    EXPECT_FALSE(node.is_held());
    EXPECT_EQ(node.counts(), (UnitCounts{.returned = 40, .noted = 2, .settled = 2}));
}

TEST(Prepare, GivesBackALeaseThatTheNodeNoLongerExpectsToNeed) {
    Node node(Quotas{api({{1000, 60s}}), search({{1000, 60s}})});
    node.ask();
    node.apply_reply({{.count = 20}, {.count = 20}}, 5);
    node.states[0].lease = 0;
    for (int i = 0; i < 4; ++i) {
        node.arrive();
    }
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    EXPECT_TRUE(node.ask().adjustments.empty()) << "with the next one, of 3 units, it is not large";
    EXPECT_EQ(node.ask(2).adjustments,
              (std::vector{Adjustment{kFirst60s, 0}, Adjustment{kFirst60s, -5}}));
}

TEST(Prepare, ACallThatTakesNothingOfATableMakesItsLeaseNoYounger) {
    Node node(Quotas{api({{1000, 60s}}), search({{1000, 60s}})});
    node.arrive();
    node.ask();
    node.apply_reply({{.count = 20}, {.count = 20}}, 5);
    const SteadyTime asked = node.states[1].asked;
    node.now += 500ms;
    node.demand.cost = Cost(std::array{QuotaCost{1}, QuotaCost{0}});
    for (int i = 0; i < 20; ++i) {
        node.arrive();
    }
    const auto acquire = node.ask(4);
    EXPECT_GT(acquire.lease, 0);
    EXPECT_GT(node.states[0].asked, asked);
    EXPECT_EQ(node.states[0].lease_calls, 1);
    EXPECT_EQ(node.states[1].asked, asked);
    EXPECT_EQ(node.states[1].lease_calls, 0);
    node.restore(acquire, AcquireFailure::kNotApplied);
    EXPECT_EQ(node.states[0].lease_calls, 0);
}

TEST(Prepare, GivesBackALeaseToTheWindowsThatOutliveIt) {
    Node node = node_with_lease({{100, 10s}, {1000, 60s}});
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

TEST(Prepare, DropsStrikesThatNoLongerCount) {
    Node node({{1, 1h}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    node.decide_alone();
    node.now += kBan.within - 1s;
    EXPECT_EQ(node.ask().strikes, 1);
    node.decide_alone();
    node.now += kBan.within;
    node.arrive();
    EXPECT_EQ(node.ask().strikes, 0);
}

TEST(Prepare, ReportsNoStrikesOfAClientThatWaits) {
    Node node({{1, 1h}});
    node.demand.ban = kBan;
    node.granted_alone(1);
    // Within any time of `within` there are two refusals, which are no ban with Redis.
    for (int i = 0; i < 100; ++i) {
        node.decide_alone();
        node.now += kBan.within / 2;
        EXPECT_LE(node.states[0].ban.strikes, 2);
    }
    node.decide_alone();
    EXPECT_LE(node.ask().strikes, 2);
}

/// A worker asks for a lease when units are left; another worker's reply says that none are.
struct OvertakenLease : testing::Test {
    OvertakenLease() {
        for (int i = 0; i < 100; ++i) {
            node.arrive();
        }
        node.apply_reply({{.count = 20}});
        asked = node.ask();
        EXPECT_GT(asked.lease, 0);
        node.apply_reply({{.count = 100}});
    }

    Node node{{{100, 1h}}};
    Acquire asked;
};

TEST_F(OvertakenLease, IsAwaitedBeforeAnotherRequestIsRefused) {
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    node.apply_reply({{.count = 100}}, 5, {}, 1ms, asked);
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    EXPECT_EQ(node.states[0].lease, 4);
}

TEST_F(OvertakenLease, ShortensRetryAfterOfTheRefusal) {
    EXPECT_EQ(node.windows(true)[0].retry, node.now + kReturnsSoon);
}

TEST_F(OvertakenLease, IsNotAwaitedWithoutAReply) {
    node.restore(asked);
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
}

TEST_F(OvertakenLease, OfAKilledWorkerIsForgottenOneSecondLater) {
    const Acquire second = node.ask();
    node.apply_reply({{.count = 100}}, 0, {}, {}, second);
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "the first call is still under way";
    node.now += kRefusalHolds;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "the refusal is too old";
    const Acquire third = node.ask();
    node.apply_reply({{.count = 100}}, 0, {}, {}, third);
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
}

}  // namespace
}  // namespace tollgate
