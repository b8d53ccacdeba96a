#include "module/plan/bucket.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "module/plan/window_decision.hpp"
#include "module/quota/cost_settlement.hpp"
#include "module/quota/plain_acquire.hpp"
#include "module/quota/quota_windows.hpp"
#include "t/unit/quota/gcra_model.hpp"
#include "t/unit/quota/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

constexpr Rate kTenPerSecond{10, 1s, 20};

std::int64_t us(ExactInstant time) {
    return time.time_since_epoch().count();
}

ExactInstant time_of(const WindowCount& bucket) {
    return ExactInstant(std::chrono::microseconds(bucket.previous));
}

/// A random rate, with periods that it divides and periods that it does not.
Rate random_rate(std::mt19937& random) {
    constexpr std::array kPeriods{1s, 7s, 60s, 3600s, 86400s};
    const auto period = kPeriods.at(random() % kPeriods.size());
    const std::int64_t requests = 1 + static_cast<std::int64_t>(random() % 200);
    const std::int64_t burst = 1 + static_cast<std::int64_t>(random() % (random() % 2 ? 5 : 500));
    return {requests, period, burst};
}

TEST(Bucket, DecidesAsGcra) {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        const Rate rate = random_rate(random);
        const std::int64_t period = token_debt(rate);
        GcraModel model(rate.requests, period, rate.burst);
        WindowCount count;
        const std::array windows{CountedWindow{rate, false, &count}};
        Instant now = kStart;
        const auto most_ms = std::max<std::int64_t>(3 * period / rate.requests / 1000, 2);
        for (int i = 0; i < 300; ++i) {
            const auto step = static_cast<std::int64_t>(random()) % most_ms;
            now += std::chrono::milliseconds(random() % 20 == 0 ? -step : step);
            const auto cost =
                static_cast<std::int64_t>(random()) % std::min<std::int64_t>(rate.burst + 2, 9);
            const std::int64_t debt = debt_at(count, rate, now);
            const ExactInstant grants =
                granted_at(rate, debt, std::max<ExactInstant>(now, time_of(count)), cost);
            if (cost <= rate.burst && count.count > 0) {
                ASSERT_EQ(us(grants), model.first_granted(us(now), cost)) << format_rate(rate);
            }
            const bool granted = !decide_windows(windows, cost, now);
            ASSERT_EQ(granted, cost == 0 || model.decide(us(now), cost))
                << format_rate(rate) << ", cost " << cost << ", request " << i;
        }
    }
}

TEST(Bucket, GrantsAtTheTimeThatItTellsAndNotBefore) {
    std::mt19937 random(2);
    for (int i = 0; i < 20'000; ++i) {
        const Rate rate = random_rate(random);
        const WindowCount bucket{
            rate.requests, static_cast<std::int64_t>(random()) * 1000 % (2 * empty_debt(rate)),
            us(kStart)};
        const std::int64_t cost = 1 + static_cast<std::int64_t>(random()) % rate.burst;
        const ExactInstant at = granted_at(rate, bucket.count, kStart, cost);
        ASSERT_GE(tokens_left(rate, debt_at(bucket, rate, at)), cost) << format_rate(rate);
        if (at > kStart) {
            ASSERT_LT(tokens_left(rate, debt_at(bucket, rate, at - 1us)), cost);
        }
    }
}

TEST(Bucket, DoesNotDriftIfATokenTakesNoWholeMicroseconds) {
    const Rate rate{3, 1s, 1};
    WindowCount bucket{3, 0, us(kStart)};
    ExactInstant now = kStart;
    constexpr int kGrants = 300'000;
    for (int i = 0; i < kGrants; ++i) {
        now = granted_at(rate, debt_at(bucket, rate, now), now, 1);
        bucket = {3, debt_at(bucket, rate, now) + debt_of(rate, 1), us(now)};
        ASSERT_LE(bucket.count, empty_debt(rate));
    }
    // Each wait is rounded up to a whole us by the clock. The bucket itself loses nothing of it.
    const auto longest = std::chrono::microseconds((kGrants - 1) * 333'334LL);
    EXPECT_LE(now - kStart, longest);
    EXPECT_GE(now - kStart, std::chrono::microseconds((kGrants - 1) * 1'000'000LL / 3));

    WindowCount burst{3, 0, us(kStart)};
    const Rate large{3, 1s, 1'000'000};
    for (ExactInstant time = kStart; time <= kStart + 100s; time += 7us * 1003) {
        burst = {3, debt_at(burst, large, time), us(time)};
    }
    burst.count += debt_of(large, 1'000'000);
    WindowCount stepped = burst;
    const ExactInstant start = time_of(burst);
    for (ExactInstant time = start; time < start + 10s; time += 1003us) {
        stepped = {3, debt_at(stepped, large, time), us(time)};
    }
    EXPECT_EQ(debt_at(stepped, large, start + 10s), debt_at(burst, large, start + 10s));
}

TEST(Bucket, HasBounds) {
    EXPECT_EQ(debt_of(kTenPerSecond, kMostDebt), kMostDebt / 1'000'000 * 1'000'000);
    EXPECT_EQ(debt_of(kTenPerSecond, -kMostDebt), -(kMostDebt / 1'000'000 * 1'000'000));
    const Rate fast{1'000'000'000'000, 1s, most_burst(1s)};
    const WindowCount empty{fast.requests, empty_debt(fast), 0};
    EXPECT_EQ(debt_at(empty, fast, kLatestInstant), 0);
    EXPECT_EQ(debt_at({1, kMostDebt + 5, 0}, fast, ExactInstant()), kMostDebt);
    EXPECT_EQ(tokens_left(kTenPerSecond, empty_debt(kTenPerSecond) + 1), -1);
    EXPECT_EQ(refill_time(kTenPerSecond), 2s);
    EXPECT_EQ(refill_time({3, 1s, 1}), 1s);
    EXPECT_EQ(refill_time({3, 1s, 4}), 2s);
}

TEST(Bucket, GetsNoTokensIfTheClockGoesBack) {
    const WindowCount bucket{10, debt_of(kTenPerSecond, 20), us(kStart)};
    EXPECT_EQ(debt_at(bucket, kTenPerSecond, kStart - 1h), bucket.count);
    EXPECT_EQ(tokens_left(kTenPerSecond, debt_at(bucket, kTenPerSecond, kStart + 500ms)), 5);
}

TEST(Bucket, CountsBesideAWindow) {
    WindowCount bucket;
    WindowCount day;
    const std::array windows{CountedWindow{kTenPerSecond, false, &bucket},
                             CountedWindow{{30, 86400s}, false, &day}};
    const auto decide = [&](Instant now) { return decide_windows(windows, 1, now); };
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(decide(kStart), std::nullopt);
    }
    EXPECT_EQ(decide(kStart), 0U);
    EXPECT_EQ(day.count, 20) << "a refused request takes nothing of the day";
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(decide(kStart + 1s), std::nullopt);
    }
    EXPECT_EQ(decide(kStart + 2s), 1U);
    EXPECT_EQ(tokens_left(kTenPerSecond, debt_at(bucket, kTenPerSecond, kStart + 2s)), 10)
        << "a refused request takes no token";
}

/// A node with a bucket and the day that each bucket has, and Redis's replies.
class BucketOfANode : public testing::Test {
  protected:
    static Quotas quotas_of(const Rate& rate, std::int64_t of_day = kNoLimit) {
        TableQuota quota{.table = "api", .rates = {rate, {of_day, 86400s}}};
        quota.lease_time = 0ms;
        quota.policies = policy_names("free", quota.rates);
        return {quota};
    }
    explicit BucketOfANode(const Rate& rate = kTenPerSecond, std::int64_t of_day = kNoLimit)
        : node_(quotas_of(rate, of_day)) {}

    const Rate& rate() const { return node_.quotas[0].rates[0]; }
    QuotaState& state() { return node_.states[0]; }
    const WindowCount& bucket() { return state().windows[0].counted; }
    /// Redis replies with so many tokens used, and the same number of units of the day.
    void reply(std::int64_t used, const Acquire& acquire = Node::other_acquire()) {
        Acquired acquired{.now = node_.now};
        acquired.windows = {{rate().requests, debt_of(rate(), used), us(node_.now)},
                            {window_number(node_.now, 86400s), used, 0}};
        state().asked = node_.moment().steady;
        apply_reply(node_.states, node_.quotas, acquire, acquired, node_.moment());
    }
    Node node_;
};

TEST_F(BucketOfANode, ShowsTokensAndWhenItIsFull) {
    reply(5);
    auto windows = node_.windows();
    ASSERT_EQ(windows.size(), 1U) << "the day has no limit";
    EXPECT_EQ(windows[0].remaining, 15);
    EXPECT_EQ(windows[0].rate.limit(), 20);
    EXPECT_EQ(windows[0].policy, "free-bucket");
    EXPECT_EQ(windows[0].reset, node_.now + 500ms);
    reply(20);
    node_.demand.cost = 3;
    windows = node_.windows(true);
    EXPECT_TRUE(windows[0].exhausted);
    EXPECT_EQ(windows[0].reset, node_.now + 300ms);
    const std::vector<WindowCount> counts{{10, debt_of(rate(), 20), us(node_.now) + 1}, {}};
    EXPECT_EQ(windows_of(counts, node_.quotas, node_.now, 3)[0].reset, node_.now + 300ms + 1us);
}

TEST_F(BucketOfANode, RefusesUntilTheEarliestTimeForTheCost) {
    reply(20);
    node_.demand.cost = 10;
    EXPECT_EQ(node_.decide(), LocalAnswer::kLimited);
    node_.now += 500ms;
    EXPECT_EQ(node_.decide(), LocalAnswer::kLimited);
    node_.demand.cost = 5;
    EXPECT_EQ(node_.decide(), LocalAnswer::kAsk) << "Redis grants a lower cost earlier";
    node_.demand.cost = 10;
    node_.now += 499ms;
    EXPECT_EQ(node_.decide(), LocalAnswer::kLimited);
    node_.now += 1ms;
    EXPECT_EQ(node_.decide(), LocalAnswer::kAsk);
}

TEST_F(BucketOfANode, IsNotLeased) {
    for (int i = 0; i < 100; ++i) {
        node_.arrive();
    }
    EXPECT_EQ(node_.ask(10).lease, 0);
    EXPECT_TRUE(is_plain(node_.states, node_.quotas, {}));
    reply(19);
    EXPECT_TRUE(is_plain(node_.states, node_.quotas, {}));
    EXPECT_FALSE(is_plain(node_.states, node_.quotas, {.cost = 2}));
}

TEST_F(BucketOfANode, RefillsInAnOutage) {
    reply(15);
    EXPECT_EQ(node_.granted_alone(100), 5);
    node_.now += 999ms;
    EXPECT_EQ(node_.granted_alone(100), 9);
    node_.now += 1ms;
    EXPECT_EQ(node_.granted_alone(100), 1);
    node_.now += 1h;
    EXPECT_EQ(node_.granted_alone(100), 20);
}

TEST_F(BucketOfANode, SharesItsRateAndItsBurstInAnOutage) {
    reply(0);
    node_.share_among(4);
    EXPECT_EQ(node_.granted_alone(100), 5);
    EXPECT_EQ(node_.decide_alone(), LocalAnswer::kLimited);
    EXPECT_EQ(node_.windows(true)[0].reset, node_.now + 400ms);
    std::int64_t granted = 0;
    for (int i = 0; i < 1000; ++i) {
        node_.now += 10ms;
        granted += node_.granted_alone(100);
    }
    EXPECT_EQ(granted, 25) << "2.5 per second";
    node_.now += 1h;
    node_.share_among(1000);
    EXPECT_EQ(node_.granted_alone(100), 1) << "at least one token";
}

TEST_F(BucketOfANode, TogetherNodesGrantNoMoreThanTheBucket) {
    std::mt19937 random(3);
    for (int round = 0; round < 30; ++round) {
        const std::int64_t used = static_cast<std::int64_t>(random()) % 21;
        reply(used);
        std::vector<Node> nodes(1 + random() % 5, node_);
        GcraModel model(10, 1'000'000, 20);
        if (used > 0) {
            model.decide(us(node_.now), used);
        }
        for (Node& node : nodes) {
            node.share_among(static_cast<std::int64_t>(nodes.size()));
        }
        for (int i = 0; i < 500; ++i) {
            const auto step = std::chrono::milliseconds(random() % 120);
            for (Node& node : nodes) {
                node.now += step;
            }
            Node& node = nodes[random() % nodes.size()];
            if (node.decide_alone() == LocalAnswer::kGranted) {
                ASSERT_TRUE(model.decide(us(node.now), 1)) << nodes.size() << " nodes";
            }
        }
        node_.now = nodes.front().now;
    }
}

TEST_F(BucketOfANode, ReportsWhatHasNotRefilled) {
    reply(0);
    EXPECT_EQ(node_.granted_alone(100), 20);
    node_.now += 500ms;
    auto acquire = node_.ask(0);
    ASSERT_EQ(acquire.adjustments.size(), 2U);
    EXPECT_EQ(acquire.adjustments[0], (Adjustment{10, debt_of(rate(), 15), us(node_.now)}));
    EXPECT_EQ(acquire.adjustments[1].units, 20);
    EXPECT_EQ(acquire.report_numbers[0], 1U);
    EXPECT_EQ(node_.ask(0).adjustments, acquire.adjustments) << "the same report";
    reply(15, acquire);
    EXPECT_FALSE(node_.is_held());
    EXPECT_EQ(node_.remaining(), 5);
    EXPECT_EQ(node_.counts().settled, 20) << "by the day";
}

TEST_F(BucketOfANode, RefillsOfRedisComeFirst) {
    reply(10);
    EXPECT_EQ(node_.granted_alone(100), 10);
    node_.now += 1500ms;  // 1 s for the tokens that Redis knows of
    EXPECT_EQ(node_.ask(0).adjustments[0].units, debt_of(rate(), 5));
}

TEST_F(BucketOfANode, RefillsWhileAReportHasNoReply) {
    reply(10);
    EXPECT_EQ(node_.granted_alone(100), 10);
    const auto acquire = node_.ask(0);
    node_.restore(acquire);
    EXPECT_EQ(node_.granted_alone(100), 0);
    node_.now += 500ms;  // Redis's debt refills first
    EXPECT_EQ(node_.granted_alone(100), 5);
    node_.now += 1500ms;  // the report has refilled, what was granted since has not
    EXPECT_EQ(node_.granted_alone(100), 15);
    node_.now += 2s;
    EXPECT_EQ(node_.granted_alone(100), 20);
    EXPECT_EQ(node_.ask(0).adjustments, acquire.adjustments) << "the report is sent unchanged";
    reply(0, acquire);
    node_.now += 2s;
    EXPECT_EQ(node_.ask(0).adjustments[0].units, 0) << "the rest has refilled";
}

TEST_F(BucketOfANode, RefillsOnceIfAWorkerIsLate) {
    reply(0);
    EXPECT_EQ(node_.granted_alone(100), 20);
    node_.now += 1s;
    EXPECT_EQ(node_.granted_alone(100), 10);
    node_.now -= 500ms;
    EXPECT_EQ(node_.granted_alone(100), 0);
    node_.now += 500ms;
    EXPECT_EQ(node_.granted_alone(100), 0) << "the tokens of this time were granted before";
}

TEST_F(BucketOfANode, RefillsAfterAWrongClock) {
    reply(20);
    node_.now -= 59s;
    EXPECT_EQ(node_.granted_alone(100), 0) << "not before its old time";
    node_.now -= 2s;
    EXPECT_EQ(node_.granted_alone(100), 0);
    node_.now += 1s;
    EXPECT_EQ(node_.granted_alone(100), 10) << "from then on";
    node_.now += 500ms;
    EXPECT_EQ(node_.granted_alone(100), 5);
}

TEST_F(BucketOfANode, AReportRefillsAfterAWrongClock) {
    reply(20);
    node_.now += 1s;
    EXPECT_EQ(node_.granted_alone(100), 10);
    node_.restore(node_.ask(0));
    node_.now -= 1h;
    EXPECT_EQ(node_.granted_alone(100), 0);
    node_.now += 3s;  // Redis's debt refills first, then that of the report
    EXPECT_EQ(node_.granted_alone(100), 20);
}

TEST_F(BucketOfANode, ReportsNothingOfABucketThatIsFullAgain) {
    reply(0);
    EXPECT_EQ(node_.granted_alone(100), 20);
    node_.now += 1h;
    const auto acquire = node_.ask(0);
    ASSERT_EQ(acquire.adjustments.size(), 2U);
    EXPECT_EQ(acquire.adjustments[0].units, 0);
    EXPECT_EQ(acquire.adjustments[1].units, 20);
}

TEST_F(BucketOfANode, SettlesCosts) {
    reply(10);
    const auto counting = counting_windows(node_.states, node_.quotas, node_.moment());
    settle_cost(node_.states, node_.quotas, counting, 0, 5, false, node_.moment());
    EXPECT_EQ(state().windows[0].owed, debt_of(rate(), 5));
    EXPECT_EQ(state().windows[1].owed, 5);
    settle_cost(node_.states, node_.quotas, counting, 0, -8, false, node_.moment());
    EXPECT_EQ(state().windows[0].owed, debt_of(rate(), -3));
    EXPECT_EQ(state().windows[0].owed_previous, 0);
    node_.now += 1s;
    const auto acquire = node_.ask(0);
    ASSERT_EQ(acquire.adjustments.size(), 2U);
    EXPECT_EQ(acquire.adjustments[0].units, debt_of(rate(), -3)) << "a refund does not fade";
    EXPECT_NE(acquire.report_numbers[0], 0U);
    node_.restore(acquire);
    EXPECT_EQ(node_.ask(0).adjustments, acquire.adjustments);
}

TEST_F(BucketOfANode, KeepsItsDebtIfTheRateChanges) {
    reply(20);
    node_.quotas = quotas_of({1, 1s, 20});
    EXPECT_EQ(node_.decide(), LocalAnswer::kAsk);
    EXPECT_EQ(node_.granted_alone(100), 0);
    node_.now += 2s;
    EXPECT_EQ(node_.granted_alone(100), 2);
}

TEST(BucketPolicy, HasTheNameOfThePlan) {
    const std::vector<Rate> one{{10, 1s, 20}, {1000, 86400s}, {kNoLimit, 3600s}};
    EXPECT_EQ(policy_names("free", one), (std::vector<std::string>{"free-bucket", "free-day", ""}));
    const std::vector<Rate> two{{10, 1s, 20}, {100, 60s, 200}};
    EXPECT_EQ(policy_names("free", two),
              (std::vector<std::string>{"free-second-bucket", "free-minute-bucket"}));
}

}  // namespace
}  // namespace tollgate
