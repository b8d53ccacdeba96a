#include "module/quota/plain_acquire.hpp"

#include <gtest/gtest.h>

#include <random>

#include "t/unit/quota/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

Node with_counts() {
    Node node({{10, 60s}, {100, 3600s}});
    node.arrive();
    node.apply_reply({{.count = 3}, {.count = 5}}, 0, {}, {}, node.ask());
    node.now += 5s;
    return node;
}

bool is_plain(const Node& node) {
    return is_plain(node.states, node.quotas, node.demand);
}

TEST(PlainAcquire, IsThatOfAKeyThatIsRareOrNew) {
    EXPECT_TRUE(is_plain(with_counts()));
    EXPECT_TRUE(is_plain(Node({{10, 60s}})));
}

TEST(PlainAcquire, IsThatOfAnyKeyIfTheTableHasNoLeases) {
    Node node = with_counts();
    node.states.front().arrivals.units = 100;
    EXPECT_FALSE(is_plain(node));
    node.quotas.front().lease_time = SteadyTime(0);
    EXPECT_TRUE(is_plain(node));
}

TEST(PlainAcquire, IsNotThatOfOtherDemands) {
    Node node = with_counts();
    node.demand.cost = 0;
    EXPECT_FALSE(is_plain(node));
    node.demand.cost = 1;
    node.demand.ban = kBan;
    EXPECT_FALSE(is_plain(node));
}

TEST(PlainAcquire, IsNotThatOfAStateThatHoldsSomething) {
    const auto is_plain_with = [](auto change) {
        Node node = with_counts();
        change(node.states.front());
        return is_plain(node);
    };
    EXPECT_FALSE(is_plain_with([](QuotaState& state) { state.lease = 1; }));
    EXPECT_FALSE(is_plain_with([](QuotaState& state) { state.lease_calls = 1; }));
    EXPECT_FALSE(is_plain_with([](QuotaState& state) { state.report.emplace(); }));
    EXPECT_FALSE(is_plain_with([](QuotaState& state) { state.windows[1].owed = -1; }));
    EXPECT_FALSE(is_plain_with([](QuotaState& state) { state.windows[0].owed_previous = 1; }));
    EXPECT_FALSE(is_plain_with([](QuotaState& state) { state.arrivals.units = 2; }));
}

TEST(PlainAcquire, IsNotThatOfAFullWindow) {
    Node node = with_counts();
    node.states.front().windows[0].counted.count = 10;
    EXPECT_FALSE(is_plain(node));
    node.states.front().windows[0].counted.count = 9;
    EXPECT_TRUE(is_plain(node));
    node.states.front().windows[0].counted.previous = 1;
    EXPECT_FALSE(is_plain(node));
    node.demand.cost = 9'000'000'000'000'000;
    EXPECT_FALSE(is_plain(node));
}

std::vector<std::pair<ExactInstant, std::int64_t>> resets_and_rests(const WindowStates& windows) {
    std::vector<std::pair<ExactInstant, std::int64_t>> all;
    for (const WindowState& window : windows) {
        EXPECT_FALSE(window.exhausted);
        EXPECT_FALSE(window.policy.empty());
        EXPECT_EQ(window.retry, Instant{});
        all.emplace_back(window.reset, window.remaining);
    }
    return all;
}

/// The acquire and the states after its reply are as if it was prepared.
TEST(PlainAcquire, IsWhatPrepareWouldSend) {
    std::mt19937 random(7);
    const auto any = [&](int most) { return std::uniform_int_distribution<>(0, most)(random); };
    int plain = 0;
    for (int i = 0; i < 20'000; ++i) {
        const bool sliding = any(2) == 0;
        Node node = any(2) == 0 ? Node(Quotas{api({{10, 10s}}, sliding), search({{9, 60s}})})
                                : Node({{10, 10s}, {20, 60s}}, sliding);
        node.demand.cost = 1 + any(1);
        if (any(4) == 0) {
            node.quotas.back().lease_time = SteadyTime(0);
        }
        std::uint64_t last_report = 0;
        for (std::size_t table = 0; table < node.states.size(); ++table) {
            QuotaState& state = node.states[table];
            for (std::size_t w = 0; w < node.quotas[table].rates.size(); ++w) {
                const Period period = node.quotas[table].rates[w].period;
                state.windows[w].counted = {window_number(kStart, period) - any(1), any(11),
                                            sliding ? any(3) : 0};
                state.windows[w].owed = any(9) == 0 ? any(2) - 1 : 0;
            }
            state.lease = any(9) == 0 ? 1 : 0;
            state.counted_at = kStart - std::chrono::milliseconds(any(3000));
            state.asked = Node::kSteady - SteadyTime(any(3000));
            state.arrivals = {state.asked, static_cast<float>(any(30)) / 10};
            state.own = any(3);
        }
        if (!is_plain(node)) {
            continue;
        }
        ++plain;
        const std::int64_t count = 1 + any(1);
        const ClockBounds now = node.moment();
        std::vector<QuotaState> prepared = node.states;
        EXPECT_EQ(decide(prepared, node.quotas, node.demand, now), LocalAnswer::kAsk);
        EXPECT_EQ(prepared, node.states);
        note_arrivals(prepared, node.quotas, node.demand, count, now.steady);
        const std::int64_t lease = lease_size(prepared, node.quotas, node.demand.cost, count, now);
        EXPECT_EQ(lease, 0);
        const Acquire acquire =
            prepare(prepared, node.quotas, node.demand, count, lease, now, &last_report);
        EXPECT_TRUE(acquire.adjustments.empty());
        EXPECT_EQ(acquire.strikes, 0);
        EXPECT_EQ(last_report, 0);
        Acquired acquired{.now = kStart + 1ms, .granted = count};
        for (const TableQuota& quota : node.quotas) {
            for (const Rate& rate : quota.rates) {
                acquired.windows.push_back(
                    {window_number(kStart, rate.period), 5 + any(6), quota.sliding ? any(5) : 0});
            }
        }
        apply_reply(prepared, node.quotas, acquire, acquired, node.moment());
        note_plain(node.states, node.quotas, acquire, now.steady);
        apply_reply(node.states, node.quotas, acquire, acquired, node.moment());
        EXPECT_EQ(node.states, prepared);
        if (std::ranges::none_of(prepared, is_held)) {
            const ClockBounds at{now.steady, acquired.now, acquired.now, acquired.now};
            EXPECT_EQ(resets_and_rests(windows_of(acquired.windows, node.quotas, acquired.now, 1)),
                      resets_and_rests(windows_of(prepared, node.quotas, at, 1, false)));
        }
    }
    EXPECT_GT(plain, 1000);
}

}  // namespace
}  // namespace tollgate
