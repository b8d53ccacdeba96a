// How a node applies Redis's replies, in any order, and what it shows then.

#include <gtest/gtest.h>

#include "module/quota/acquire_reply.hpp"
#include "t/unit/quota/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(ApplyReply, TakesTheCountsOfRedis) {
    Node node({{10, 10s}, {100, 60s}});
    node.apply_reply({{.count = 3, .previous = 7}, {.count = 30}}, 2);
    const QuotaState& state = node.states[0];
    EXPECT_EQ(state.windows[0].counted, (WindowCount{kFirst10s, 3, 7}));
    EXPECT_EQ(state.windows[1].counted, (WindowCount{kFirst60s, 30, 0}));
    EXPECT_EQ(state.lease, 2);
    EXPECT_EQ(state.counted_at, kStart);
}

TEST(NoEarlierThanReplies, IsAtLeastTheTimeOfTheLastReply) {
    std::array<QuotaState, 2> states;
    states[0].counted_at = kStart - 5s;
    states[1].counted_at = kStart;
    const ClockBounds early = no_earlier_than_replies({1s, kStart - 1ms, kStart - 1ms}, states);
    EXPECT_EQ(early.steady, 1s);
    EXPECT_EQ(early.earliest, kStart);
    EXPECT_EQ(early.latest, kStart);
    const ClockBounds late = no_earlier_than_replies({1s, kStart + 1ms, kStart + 2ms}, states);
    EXPECT_EQ(late.earliest, kStart + 1ms);
    EXPECT_EQ(late.latest, kStart + 2ms);
}

TEST(ApplyReply, GivesEachTableItsWindows) {
    Node node(Quotas{api({{10, 10s}, {100, 60s}}), search({{10, 10s}})});
    node.apply_reply({{.count = 1}, {.count = 2}, {.count = 3}}, 2);
    EXPECT_EQ(node.states[0].windows[1].counted.count, 2);
    EXPECT_EQ(node.states[1].windows[0].counted.count, 3);
    EXPECT_EQ(node.states[1].lease, 2);
}

TEST(ApplyReply, KeepsTheOwedUnitsOfTheWindow) {
    Node node({{10, 10s}});
    node.granted_alone(2);
    node.apply_reply({{.count = 3}});
    EXPECT_EQ(node.remaining(), 5);
    EXPECT_EQ(node.ask().adjustments, (std::vector{Adjustment{kFirst10s, 2}}));
}

TEST(ApplyReply, ReturnsALeaseThatRedisDoesNotRenew) {
    Node node({{100, 10s}});
    node.apply_reply({{.count = 50}}, 5);
    node.now += 900ms;
    node.arrive();
    const Acquire renewal =
        prepare(node.states, node.quotas, node.demand, 0, 8, node.moment(), nullptr);
    EXPECT_EQ(node.states[0].lease, 5);
    node.apply_reply({{.count = 98}}, 0, {}, {}, renewal);
    EXPECT_EQ(node.states[0].lease, 0);
    EXPECT_EQ(node.ask(0).adjustments, (std::vector{Adjustment{kFirst10s, -5}}))
        << "other nodes expect it two seconds after Redis granted it";
}

TEST(ApplyReply, DropsTheOwedUnitsOfAnEndedWindow) {
    Node node({{10, 10s}, {100, 60s}});
    node.granted_alone(2);
    node.now += 10s;
    node.apply_reply({{.count = 3}, {.count = 3}});
    EXPECT_EQ(node.ask().adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 0}, Adjustment{kFirst60s, 2}}));
}

TEST(ApplyReply, GivesBackALeaseOfWindowsThatHaveEnded) {
    Node node({{10, 10s}, {100, 60s}});
    node.apply_reply({{.count = 3}, {.count = 3}}, 2);
    node.now += 10s;
    node.apply_reply({{.count = 1}, {.count = 4}}, 1);
    EXPECT_EQ(node.states[0].lease, 1);
    EXPECT_EQ(node.windows()[0].remaining, 10);
    EXPECT_EQ(node.windows()[1].remaining, 99);
    node.arrive();
    EXPECT_EQ(node.ask().adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 0}, Adjustment{kFirst60s, -2}}));
}

TEST(ApplyReply, TakesOnlyTheLeaseOfALateReply) {
    Node node({{10, 10s}});
    node.now += 1s;
    node.apply_reply({{.count = 5}}, 1, banned(kStart + 1h));
    node.apply_reply({{.count = 3}}, 2, {}, 7ms);
    const QuotaState& state = node.states[0];
    EXPECT_EQ(state.windows[0].counted.count, 5);
    EXPECT_EQ(state.lease, 2);
    EXPECT_EQ(state.counted_at, kStart + 1s);
    EXPECT_EQ(state.ban.until, kStart + 1h);
}

TEST(ApplyReply, ALateReplyIsLateForAnyTime) {
    Node node({{10, 60s}});
    node.now += 30s;
    node.apply_reply({{.count = 9}});
    node.apply_reply({{.count = 3}}, 0, {}, 20s);
    EXPECT_EQ(node.states[0].windows[0].counted.count, 9);
    EXPECT_EQ(node.states[0].counted_at, kStart + 30s);
}

TEST(ApplyReply, TakesAReplyOfAClockThatWasSetBack) {
    for (const auto step : {10ms, 500ms, 20'000ms}) {
        Node node({{10, 60s}});
        node.now += 30s;
        node.apply_reply({{.count = 9}});
        node.now -= step;
        node.apply_reply({{.count = 10}});
        EXPECT_EQ(node.states[0].windows[0].counted.count, 10);
        EXPECT_EQ(node.states[0].counted_at, node.now);
    }
}

TEST(ApplyReply, ABanIsThatOfTheLatestReplyOfAnyTable) {
    Node api({{10, 60s}});
    Node search({{10, 60s}});
    api.now = search.now = kStart + 30s;
    const auto told = [](Node& by, Node& to, Acquired answer, std::chrono::milliseconds before) {
        to.states[0].ban = by.states[0].ban;  // It belongs to the id.
        to.apply_reply({{.count = 1}}, 0, std::move(answer), before);
    };
    api.apply_reply({{.count = 1}}, 0, banned(kStart + 1h));
    told(api, search, {}, 5ms);
    EXPECT_EQ(search.states[0].ban.until, kStart + 1h) << "the reply is older";
    told(search, api, {}, 0ms);
    EXPECT_EQ(api.states[0].ban.until, kStart + 1h) << "of one ms, the ban holds";
    api.now += 1ms;
    told(search, api, {}, 0ms);
    EXPECT_EQ(api.states[0].ban, Ban{}) << "lifted";
}

TEST(ApplyReply, GivesBackTheLeaseOfABannedId) {
    Node node({{10, 10s}});
    node.apply_reply({{.count = 5}}, 2);
    node.apply_reply({{.count = 5}}, 0, banned(kStart + 1h));
    EXPECT_EQ(node.states[0].lease, 0) << "the node may forget the ban, but not the lease";
}

TEST(ApplyReply, KeepsABanIfTheAcquireDidNotLookForIt) {
    Node node({{10, 10s}});
    node.apply_reply({{.count = 5}}, 1, banned(kStart + 1h));
    node.now += 1s;
    const Acquire settlement = node.ask(0);
    EXPECT_FALSE(settlement.demand.ban);
    node.apply_reply({{.count = 5}}, 0, {}, 0ms, settlement);
    EXPECT_EQ(node.states[0].ban.until, kStart + 1h);
    node.demand.ban = BanPolicy{};
    node.now += 1s;
    const Acquire request = node.ask();
    EXPECT_TRUE(request.demand.ban);
    node.apply_reply({{.count = 6}}, 0, {}, 0ms, request);
    EXPECT_EQ(node.states[0].ban.until, Instant{}) << "Redis says that the ban is lifted";
}

TEST(ApplyReply, TakesTheHigherOfTwoCountsOfOneMillisecond) {
    Node node({{10, 10s}});
    node.apply_reply({{.count = 5}}, 1);
    node.apply_reply({{.count = 3}}, 2);
    EXPECT_EQ(node.states[0].windows[0].counted.count, 5);
    EXPECT_EQ(node.states[0].lease, 3);
}

TEST(ApplyReply, GivesBackTheLeaseOfALateReplyOfAWindowThatHasEnded) {
    Node node({{10, 10s}, {100, 60s}});
    node.now += 10s;
    node.apply_reply({{.count = 5}, {.count = 50}}, 1);
    node.apply_reply({{.count = 9}, {.count = 40}}, 2, {}, 7ms);
    EXPECT_EQ(node.states[0].lease, 1) << "that of the present window is kept";
    EXPECT_EQ(node.windows()[0].remaining, 6);
    EXPECT_EQ(node.windows()[1].remaining, 53);
    node.arrive();
    EXPECT_EQ(node.ask().adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 0}, Adjustment{kFirst60s, -2}}));
}

TEST(ApplyReply, UnitsOfAWindowThatRedisHasNotBegunWaitForIt) {
    Node node({{10, 10s}, {100, 60s}});
    node.apply_reply({{.count = 3}, {.count = 3}});
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(2), 2);
    node.now -= 5s;  // Another master has another clock.
    const Acquire early = node.ask(0);
    EXPECT_EQ(early.adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 0}, Adjustment{kFirst60s, 2}}));
    node.apply_reply({{.count = 3}, {.count = 5}}, 0, {}, {}, early);
    EXPECT_TRUE(node.ask(0).adjustments.empty());
    node.now += 5s;
    EXPECT_EQ(node.ask(0).adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 2}, Adjustment{kFirst60s, 0}}));
}

TEST(ApplyReply, UnitsThatRedisHasNotTakenAreOwedAgain) {
    Node node({{10, 10s}, {100, 60s}});
    node.apply_reply({{.count = 3}, {.count = 3}});
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(2), 2);
    const Acquire report = node.ask(0);
    node.now -= 5s;
    node.apply_reply({{.count = 3}, {.count = 5}}, 0, {}, {}, report);
    EXPECT_EQ(node.counts().settled, 2) << "the longest window";
    node.now += 5s;
    const Acquire again = node.ask(0);
    EXPECT_EQ(again.adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 2}, Adjustment{kFirst60s, 0}}));
    EXPECT_NE(again.report_numbers, report.report_numbers);
}

TEST(ApplyReply, KeepsAWindowThatBeganAfterTheDecisionAndOwesUnits) {
    for (const bool is_reported : {false, true}) {
        Node node({{10, 10s}, {100, 60s}});
        node.apply_reply({{.count = 3}, {.count = 3}});
        node.now += 10s;
        EXPECT_EQ(node.granted_alone(8), 8);
        const Acquire report = is_reported ? node.ask(0) : Acquire{};
        node.apply_reply({{.count = 9}, {.count = 90}}, 1, {}, 20ms);
        EXPECT_EQ(node.granted_alone(8), 2) << "the window that has begun is the same";
        if (is_reported) {
            node.restore(report);
            EXPECT_EQ(node.ask(0).adjustments, report.adjustments);
            node.apply_reply({{.count = 8}, {.count = 97}}, 0, {}, 0ms, report);
        }
        EXPECT_EQ(node.ask(0).adjustments,
                  (std::vector{Adjustment{kFirst10s + 1, is_reported ? 2 : 10},
                               Adjustment{kFirst60s, is_reported ? 1 : 9}}))
            << "with the unit of the lease, which the minute counted";
    }
}

TEST(ApplyReply, TakesTheOtherWindowsIfOneBeganAfterTheDecision) {
    Node node({{10, 10s}, {20, 60s}});
    node.apply_reply({{.count = 3}, {.count = 3}});
    EXPECT_EQ(node.granted_alone(7), 7);
    const Acquire report = node.ask(0);
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(5), 5);
    node.apply_reply({{.count = 10}, {.count = 12}}, 0, {}, 20ms, report);
    EXPECT_EQ(node.states[0].counted_at, node.now - 20ms);
    EXPECT_EQ(node.granted_alone(100), 3) << "the minute has 12 by Redis, and 5 that the node owes";
    EXPECT_EQ(node.ask(0).adjustments,
              (std::vector{Adjustment{kFirst10s + 1, 8}, Adjustment{kFirst60s, 8}}));
}

TEST(ApplyReply, TakesTheCountBeforeIfASlidingWindowBeganAfterTheDecision) {
    Node node({{10, 10s}}, true);
    node.apply_reply({{.count = 3}});
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(2), 2);
    node.apply_reply({{.count = 6}}, 0, {}, 20ms);
    EXPECT_EQ(node.states[0].windows[0].counted, (WindowCount{kFirst10s + 1, 0, 6}));
    EXPECT_EQ(node.granted_alone(100), 2);
}

TEST(RefusedWindows, AreThoseOfTheDecision) {
    Node node({{10, 10s}, {100, 60s}});
    node.apply_reply({{.count = 3}, {.count = 3}});
    node.now += 10s;
    EXPECT_EQ(node.granted_alone(2), 2);
    node.apply_reply({{.count = 10}, {.count = 40}}, 0, {}, 20ms);
    const Instant decided = node.now - 20ms;
    const Acquired acquired{.now = decided, .windows = {{kFirst10s, 10, 0}, {kFirst60s, 40, 0}}};
    const auto windows = refused_windows(node.states, node.quotas, acquired,
                                         {node.moment().steady, decided, decided, decided}, 1);
    ASSERT_EQ(windows.size(), 2U);
    EXPECT_TRUE(windows[0].exhausted);
    EXPECT_EQ(windows[0].reset, kStart + 10s);
    EXPECT_FALSE(windows[1].exhausted);
    EXPECT_EQ(retry_after(decided, retry_at(windows)), 1);
}

TEST(ApplyReply, FollowsAClockThatWasSetBack) {
    Node node({{10, 10s}});
    node.now += 11s;
    node.apply_reply({{.count = 5}}, 2);
    node.now -= 2s;
    node.apply_reply({{.count = 6, .ahead = 1}}, 1);
    EXPECT_EQ(node.states[0].counted_at, node.now);
    EXPECT_EQ(node.states[0].lease, 3) << "Redis counts the window to come yet";
    EXPECT_EQ(node.decide(), LocalAnswer::kGranted);
    EXPECT_EQ(node.remaining(), 6);
    node.apply_reply({{.count = 1}});
    EXPECT_EQ(node.remaining(), 9) << "another Redis, which never counted it";
    EXPECT_EQ(node.states[0].lease, 0);
}

TEST(NeedsSettling, IsFalseIfNothingIsHeldOrOwed) {
    Node node({{10, 10s}});
    EXPECT_FALSE(node.needs_settling());
    EXPECT_FALSE(node.is_held());
    node.apply_reply({{.count = 5}});
    EXPECT_FALSE(node.is_held());
}

TEST(NeedsSettling, IsTrueIfAnyTableIsOwed) {
    Node node(Quotas{api({{10, 10s}}), search({{10, 10s}, {20, 60s}})});
    node.states[1].windows[1].owed = -1;
    EXPECT_TRUE(node.needs_settling());
    EXPECT_TRUE(node.is_held());
}

TEST(GiveBackLeases, LeavesNone) {
    Node node(Quotas{api({{10, 10s}}), search({{10, 10s}})});
    node.apply_reply({{.count = 5}, {.count = 5}}, 2);
    return_leases(node.states, node.quotas);
    EXPECT_EQ(node.states[1].lease, 0);
    EXPECT_EQ(node.remaining(), 7);
    EXPECT_EQ(node.ask().adjustments,
              (std::vector{Adjustment{kFirst10s, -2}, Adjustment{kFirst10s, -2}}));
}

TEST(WindowsOf, ShowFullWindowsIfNothingIsKnown) {
    Node node({{10, 10s}, {100, 60s}});
    const auto windows = node.windows();
    ASSERT_EQ(windows.size(), 2U);
    EXPECT_EQ(windows[0].rate, (Rate{10, 10s}));
    EXPECT_EQ(windows[0].remaining, 10);
    EXPECT_EQ(windows[0].reset, kStart + 10s);
    EXPECT_FALSE(windows[0].exhausted);
    EXPECT_EQ(windows[0].policy, "api-10-seconds");
    EXPECT_EQ(windows[1].reset, kStart + 60s);
}

TEST(WindowsOf, ShowANewWindowOnceTheOldOneHasEnded) {
    Node node({{10, 10s}});
    node.apply_reply({{.count = 8}}, 1);
    node.now += 10s;
    EXPECT_EQ(node.remaining(), 10);
    EXPECT_EQ(node.windows()[0].reset, kStart + 20s);
    node.uncertainty = 1ms;
    EXPECT_EQ(node.remaining(), 3) << "it may not have ended";
    EXPECT_EQ(node.windows()[0].reset, kStart + 10s);
}

TEST(WindowsOf, MarkThoseThatRefuse) {
    Node node({{10, 10s}, {100, 60s}});
    node.apply_reply({{.count = 8}, {.count = 30}});
    node.demand.cost = 3;
    EXPECT_TRUE(node.windows(true)[0].exhausted);
    EXPECT_FALSE(node.windows(true)[1].exhausted);
    EXPECT_FALSE(node.windows()[0].exhausted) << "of a request that is not refused";
    EXPECT_EQ(node.windows(true)[0].remaining, 2);
}

TEST(WindowsOf, MarkAWindowWhoseRestIsLeased) {
    Node node({{100, 10s}, {1000, 60s}});
    node.apply_reply({{.count = 98}, {.count = 98}}, 5);
    node.demand.cost = 6;
    EXPECT_TRUE(node.windows(true)[0].exhausted);
    EXPECT_FALSE(node.windows(true)[1].exhausted);
}

TEST(WindowsOf, NeverShowMoreThanTheLimit) {
    Node node({{10, 10s}});
    node.apply_reply({{.count = 5}}, 4);
    node.now += 1ms;
    node.apply_reply({{.count = 1}});
    EXPECT_EQ(node.remaining(), 10) << "this Redis has lost counts";
}

TEST(WindowsOf, NeverShowLessThanZero) {
    Node node({{10, 10s}});
    node.apply_reply({{.count = 12}});
    EXPECT_EQ(node.remaining(), 0);
}

TEST(WindowsOf, ShowWhenASlidingWindowGrantsAgain) {
    Node node({{10, 10s}}, true);
    node.apply_reply({{.count = 4, .previous = 10}});
    node.now += 1s;
    EXPECT_EQ(node.windows(true)[0].reset, kStart + 5s);
    EXPECT_EQ(node.windows()[0].reset, kStart + 5s) << "there is nothing left";
    node.now += 5s;
    EXPECT_EQ(node.remaining(), 2);
    EXPECT_EQ(node.windows()[0].reset, kStart + 10s);
}

TEST(WindowsOf, ShowWhenASlidingWindowWithOwedUnitsGrantsAgain) {
    Node node({{10, 10s}}, true);
    node.apply_reply({{.count = 4, .previous = 2}});
    node.granted_alone(20);
    EXPECT_EQ(node.windows(true)[0].reset, kStart + 5s);
    node.now += 5s;
    node.granted_alone(20);
    EXPECT_EQ(node.windows(true)[0].reset, kStart + 10s);
    node.now += 5s;
    EXPECT_EQ(node.granted_alone(20), 1);
    EXPECT_EQ(node.windows(true)[0].reset, kStart + 11'112ms) << "when 8 are left of 9";
}

}  // namespace
}  // namespace tollgate
