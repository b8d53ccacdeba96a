// The decisions of a node, one call at a time. The simulation tests concurrent calls.

#include "module/quota/local_decision.hpp"

#include <gtest/gtest.h>

#include "module/quota/quota_windows.hpp"
#include "module/quota/slice.hpp"
#include "t/unit/quota/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(Decide, AsksRedisWhileNothingIsKnown) {
    Node node({{10, 10s}});
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
}

TEST(Decide, GrantsFromALeaseUntilItIsSpent) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 20}}, 3);
    EXPECT_EQ(node.remaining(), 83) << "what others and its own lease don't hold, and the lease";
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    }
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    EXPECT_EQ(node.remaining(), 80);
}

TEST(Decide, TakesAllOfTheCostFromTheLeaseOrNothing) {
    Node node({{100, 10s}});
    node.demand.cost = 2;
    node.apply_reply({{.count = 20}}, 3);
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    EXPECT_EQ(node.states[0].lease, 1);
}

TEST(Decide, GrantsFromALeaseNoMoreThanALoweredLimitHasLeft) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 60}}, 50);
    node.quotas[0].rates[0].requests = 15;
    node.demand.cost = 6;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited) << "five are left";
    node.demand.cost = 5;
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    node.demand.cost = 1;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
}

TEST(Decide, ASliceHasNoMoreThanALoweredLimitHasLeft) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 60}}, 50);
    node.quotas[0].rates[0].requests = 15;
    for (int i = 0; i < 10'000; ++i) {
        node.arrive();
    }
    Slice slice;
    slice.take(node.states, node.quotas, node.windows(), node.moment(), {1, false});
    EXPECT_EQ(slice.units(0), 5);
}

TEST(Decide, ASliceHasStepsOfTablesThatCostDifferently) {
    Node node(Quotas{api({{1000, 10s}}), search({{10'000, 10s}})});
    const Cost cost(std::vector<QuotaCost>{{1}, {20}});
    node.demand.cost = cost;
    node.apply_reply({{.count = 50}, {.count = 1000}}, 50);
    node.states[1].lease = 90;
    for (int i = 0; i < 10'000; ++i) {
        node.arrive();
    }
    Slice slice;
    EXPECT_FALSE(slice.prepare(cost)) << "the next request may have other costs";
    EXPECT_TRUE(slice.prepare(cost));
    slice.take(node.states, node.quotas, node.windows(), node.moment(), {1, false});
    ASSERT_TRUE(slice.is_taken());
    EXPECT_EQ(slice.units(0), 4);
    EXPECT_EQ(slice.units(1), 80);
    EXPECT_EQ(node.states[0].lease, 46);
    EXPECT_EQ(node.states[1].lease, 10);
    EXPECT_TRUE(slice.serves(cost));
    EXPECT_FALSE(slice.serves(Cost(1)));
    EXPECT_FALSE(slice.serves(Cost(std::vector<QuotaCost>{{1}, {21}})));
    const auto before = slice.windows();
    EXPECT_TRUE(slice.spend(1, node.moment().steady));
    EXPECT_EQ(slice.windows()[0].remaining, before[0].remaining - 1);
    EXPECT_EQ(slice.windows()[1].remaining, before[1].remaining - 20);
    slice.end(node.states, node.quotas, node.demand, node.moment().steady);
    EXPECT_EQ(node.states[0].lease, 49);
    EXPECT_EQ(node.states[1].lease, 70);
    EXPECT_TRUE(slice.prepare(Cost(5))) << "uniform costs are units";
}

TEST(Decide, GrantsFromALeaseOnlyInItsWindow) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 20}}, 3);
    node.now += 9'999ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    node.uncertainty = 1ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "it may have ended";
    node.now += 1ms;
    node.uncertainty = 0ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
}

TEST(Decide, GrantsFromTheLeasesOfAllTablesOrOfNone) {
    Node node(Quotas{api({{100, 10s}}), search({{100, 10s}})});
    node.apply_reply({{.count = 20}, {.count = 20}}, 2);
    node.states[1].lease = 1;
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    EXPECT_EQ(node.states[0].lease, 1);
}

TEST(Decide, DoesNotGrantFromALeaseOfAWindowFarAhead) {
    Node node({{100, 1s}});
    node.now += 10min;
    node.apply_reply({{.count = 20}}, 3);
    node.now -= 10min;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "Redis will count by its new clock";
}

TEST(Decide, AsksAboutACostOfZero) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 20}}, 3);
    node.demand.cost = 0;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    node.apply_reply({{.count = 100}});
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "nothing refuses it";
}

TEST(Decide, AChargeThatFollowsNeedsAUnitThatIsLeft) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 20}}, 3);
    node.demand.cost = {0, true};
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted) << "the lease has one";
    EXPECT_EQ(node.states[0].lease, 3);
    EXPECT_EQ(node.counts().spent, 0);
    node.states[0].lease = 0;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    node.ask();
    node.apply_reply({{.count = 100}});
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    EXPECT_TRUE(node.windows(true)[0].remaining == 0);
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kLimited);
    node.now += 1ms;
    node.apply_reply({{.count = 99}});
    EXPECT_EQ(node.decide_alone(), LocalAnswer::kGranted);
    EXPECT_EQ(node.counts().noted, 0) << "its charge is";
}

TEST(Decide, RefusesWhatIsExhaustedForASecond) {
    Node node({{10, 60s}});
    node.ask();
    node.apply_reply({{.count = 10}});
    node.now += 999ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    node.now += 1ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
}

TEST(Decide, AsksForTheClockCloseToAFullSecond) {
    Node node({{10, 60s}});
    node.ask();
    node.apply_reply({{.count = 10}});
    node.now = Instant(std::chrono::floor<std::chrono::seconds>(node.now)) + 1s;
    node.uncertainty = 1ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "Retry-After would be a second too long";
    node.ask();
    node.apply_reply({{.count = 10}});
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited) << "Redis has just been asked";
    node.now += 500ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited) << "both bounds say the same";
}

TEST(Decide, RefusesNothingOnceTheWindowMayHaveEnded) {
    Node node({{10, 10s}});
    node.now += 9'900ms;
    node.ask();
    node.apply_reply({{.count = 10}});
    node.now += 99ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    node.uncertainty = 1ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
}

TEST(Decide, RefusesNothingIfASlidingWindowHasFaded) {
    Node node({{10, 10s}}, true);
    node.ask();
    node.apply_reply({{.count = 0, .previous = 10}});
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    node.now += 998ms;
    node.uncertainty = 1ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    node.uncertainty = 2ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
}

/// A reply that refused a request: another node got a lease so long before kStart.
Acquired leased_elsewhere(std::chrono::milliseconds before) {
    Acquired answer{};
    answer.leased_elsewhere = {{.at = kStart - before}};
    return answer;
}

TEST(Decide, AsksAgainWhenUnitsMayBeBackFromLeasesOfOtherNodes) {
    Node node({{10, 60s}});
    node.now += 10s;
    node.ask();
    const auto leased = 10'500ms - lease_returns_within(node.quotas[0]);
    node.apply_reply({{.count = 10}}, 0, leased_elsewhere(-leased));
    const Instant back = kStart + 10'500ms;
    EXPECT_EQ(node.states[0].returns_until, back);
    node.now += 499ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    EXPECT_EQ(retry_at(node.windows(true)), back);
    EXPECT_EQ(node.windows(true).front().reset, kStart + 60s);
    node.now += 1ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "a client that was told so is not refused";
    node.ask();
    node.apply_reply({{.count = 10}}, 0, leased_elsewhere(-leased));
    EXPECT_EQ(node.states[0].returns_until, Instant{});
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited) << "nothing came back";
    EXPECT_EQ(retry_at(node.windows(true)), kStart + 60s);
}

TEST(Decide, ExpectsNoUnitsBackForACostAboveTheLimit) {
    Node node({{10, 60s}});
    node.now += 10s;
    node.ask();
    node.apply_reply({{.count = 10}}, 0, leased_elsewhere(-9s));
    node.demand.cost = 10;
    EXPECT_EQ(retry_at(node.windows(true)), node.states[0].returns_until);
    node.demand.cost = 11;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    EXPECT_EQ(retry_at(node.windows(true)), kStart + 60s);
}

/// The same. The leases were recalled so long before kStart.
Acquired recalled_elsewhere(std::chrono::milliseconds leased, std::chrono::milliseconds recalled) {
    Acquired answer{};
    answer.leased_elsewhere = {{.at = kStart - leased, .recalled = kStart - recalled}};
    return answer;
}

TEST(Decide, ExpectsRecalledUnitsWithinASecond) {
    Node node({{10, 60s}});
    node.now += 10s;
    node.ask();
    node.apply_reply({{.count = 10}}, 0, recalled_elsewhere(-9s, -10s));
    EXPECT_EQ(retry_at(node.windows(true)), kStart + 11s);
    node.now += 999ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    node.now += 1ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "a client that was told so is not refused";
    node.ask();
    node.apply_reply({{.count = 10}}, 0, recalled_elsewhere(-9s, -10s));
    EXPECT_EQ(retry_at(node.windows(true)), kStart + 60s) << "they are back, and were used";
    node.apply_reply({{.count = 10}}, 0, recalled_elsewhere(-10'500ms, -10s));
    EXPECT_EQ(retry_at(node.windows(true)),
              kStart + 10'500ms + lease_returns_within(node.quotas[0]))
        << "Redis could not recall a later lease";
}

TEST(Decide, ExpectsNoUnitsBackFromARecalledLeaseThatIsOver) {
    Node node({{10, 60s}});
    node.now += 10s;
    node.ask();
    const auto leased = 9'500ms - lease_returns_within(node.quotas[0]);
    node.apply_reply({{.count = 10}}, 0, recalled_elsewhere(-leased, -10s));
    EXPECT_EQ(retry_at(node.windows(true)), kStart + 60s) << "its units came back before";
}

TEST(Decide, ExpectsNoUnitsBackFromARecalledLeaseOfAnEarlierWindow) {
    for (const bool slides : {false, true}) {
        Node node({{10, 60s}}, slides);
        node.now += 100ms;
        node.ask();
        node.apply_reply({{.count = 10}}, 0, recalled_elsewhere(1ms, -100ms));
        EXPECT_EQ(retry_at(node.windows(true)) == kStart + 1'100ms, slides)
            << "unless that window still counts";
    }
}

TEST(Decide, ExpectsNoUnitsBackAfterTheReset) {
    Node node({{10, 1s}, {1000, 60s}});
    node.now += 60s;
    node.ask();
    Acquired answer{};
    answer.leased_elsewhere = {{.at = node.now + 100ms}};
    node.now += 200ms;
    node.apply_reply({{.count = 10}, {.count = 10}}, 0, answer);
    EXPECT_EQ(retry_at(node.windows(true)), kStart + 61s) << "which is before them";
}

TEST(Decide, ExpectsNoUnitsBackFromLeasesOfAnEarlierWindow) {
    for (const bool slides : {false, true}) {
        Node node({{10, 60s}}, slides);
        node.now += 100ms;
        node.ask();
        node.apply_reply({{.count = 10}}, 0, leased_elsewhere(1ms));
        const Instant back = kStart - 1ms + lease_returns_within(node.quotas[0]);
        EXPECT_EQ(node.states[0].returns_until, back);
        EXPECT_EQ(retry_at(node.windows(true)) == back, slides)
            << "unless that window still counts";
    }
}

TEST(Decide, WaitsForEveryExhaustedWindow) {
    Node node(Quotas{api({{10, 60s}}), search({{10, 10s}})});
    node.ask();
    Acquired answer{};
    answer.leased_elsewhere = {{.at = kStart}, {}};
    node.apply_reply({{.count = 10}, {.count = 10}}, 0, answer);
    EXPECT_EQ(retry_at(node.windows(true)), kStart + 10s) << "no units of the second come back";
    EXPECT_EQ(node.windows(true).front().retry, kStart + lease_returns_within(node.quotas[0]));
}

TEST(Decide, RefusesAHighCostAndAsksAboutALowOne) {
    Node node({{10, 60s}});
    node.ask();
    node.apply_reply({{.count = 8}});
    node.demand.cost = 3;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    node.demand.cost = 2;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
}

TEST(Decide, AsksAgainAfterAChangeOfTheId) {
    Node node({{10, 60s}});
    node.ask();
    node.apply_reply({{.count = 10}}, 0, banned(kStart + 1h));
    node.demand.ban = kBan;
    EXPECT_EQ(node.decide(), LocalAnswer::kBanned);
    node.demand.changed = node.moment().steady;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
}

TEST(Decide, RefusesForATableOnlyAfterARecentReply) {
    Node node(Quotas{api({{100, 60s}}), search({{10, 60s}})});
    node.ask();
    node.apply_reply({{.count = 10}, {.count = 10}});
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    // A location with only the first table gets requests all the time.
    const Quotas api_alone{node.quotas[0]};
    node.now += 1s;
    prepare(std::span(node.states).first(1), api_alone, Demand{}, 1, 0, node.moment(),
            &node.last_report);
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
}

TEST(Decide, RefusesABannedKeyForASecond) {
    Node node({{10, 60s}});
    node.demand.ban = kBan;
    node.ask();
    node.apply_reply({{.count = 10}}, 0, banned(kStart + 1500ms));
    node.demand.cost = 0;
    EXPECT_EQ(node.decide(), LocalAnswer::kBanned) << "whatever it costs";
    node.now += 1s;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    node.ask();
    EXPECT_EQ(node.decide(), LocalAnswer::kBanned);
    node.now += 500ms;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "it has ended";
}

TEST(Decide, DoesNotGrantABannedKeyFromALease) {
    Node node({{100, 60s}});
    node.demand.ban = kBan;
    node.ask();
    node.apply_reply({{.count = 20}}, 5, banned(kStart + 1h));
    node.states[0].lease = 5;
    node.now += 1s;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    node.demand.ban.reset();
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted) << "where bans don't count";
}

TEST(Decide, LeavesRefusalsThatStrikeToRedis) {
    Node node({{10, 60s}});
    node.demand.ban = kBan;
    node.ask();
    node.apply_reply({{.count = 10}});
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    node.demand.refusals_strike = false;
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    EXPECT_EQ(node.states[0].ban.strikes, 0);
}

TEST(Decide, RefusesForATableWithoutStrikesWhileOthersHaveRoom) {
    Node node(Quotas{api({{10, 60s}}), search({{10, 60s}})});
    node.demand.ban = kBan;
    node.quotas[1].by = CountedBy::kGroup;
    node.ask();
    node.apply_reply({{.count = 9}, {.count = 10}});
    EXPECT_EQ(node.decide(), LocalAnswer::kLimited);
    node.demand.cost = 2;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "the table of the id may refuse it, too";
    node.demand.cost = 1;
    node.demand.ban->all_strike = true;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk);
    node.demand.ban->all_strike = false;
    node.now += kRefusalHolds;
    EXPECT_EQ(node.decide(), LocalAnswer::kAsk) << "the id may have spent the rest elsewhere";
}

TEST(Decide, SpendsNoLeaseOfAHigherLimit) {
    Node node({{1000, 1h}});
    node.apply_reply({{.count = 500}}, 50);
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    node.quotas.front().rates.front().requests = 10;
    EXPECT_NE(node.decide(), LocalAnswer::kGranted);
    EXPECT_EQ(node.states.front().lease, 49);
}

}  // namespace
}  // namespace tollgate
