// Leases of ordinary keys, at many nodes: they leave no unit of a limit unused, and a client that
// is refused while units lie in leases is told when they come back.

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <tuple>

#include "t/unit/engine/many_nodes.hpp"

namespace tollgate::engine {
namespace {

using namespace std::chrono_literals;

/// Five nodes get 150 requests each within a second, and none later.
class SixNodes : public testing::Test {
  protected:
    static constexpr int kBursting = 5;
    static constexpr int kSixth = 5;
    static constexpr Rate kRate{1'000, 60s};

    SixNodes() {
        // The beginning of a window.
        const Instant start = window_end(window_number(kBeginning, kRate.period), kRate.period);
        fleet.run_for(start - kBeginning + 100ms);
    }

    void burst(int requests) {
        for (int i = 0; i < requests; ++i) {
            for (int node = 0; node < kBursting; ++node) {
                fleet.request(node, 0);
            }
            fleet.run_for(10ms);
        }
    }
    /// The outcome of a request at the sixth node.
    const Outcome& ask() {
        fleet.request(kSixth, 0);
        fleet.run_for(50ms);
        return fleet.last_outcome();
    }
    /// Spends what is left at the sixth node. Returns the first refusal.
    const Outcome& spend() {
        while (ask().is_granted()) {
        }
        return fleet.last_outcome();
    }
    std::int64_t idle() { return fleet.idle({0, 0, fleet.current_window(0)}); }

    Fleet fleet{{.name = {},
                 .nodes = kBursting + 1,
                 .keys = 1,
                 .per_second = 0,
                 .rates = {kRate},
                 .round_trip = 5ms,
                 .duration = 120s},
                kSeed};
};

TEST_F(SixNodes, TellWhenUnitsOfTheOthersComeBack) {
    burst(150);
    const std::int64_t in_leases = idle();
    EXPECT_GT(in_leases, 20) << "units that the five expected to need";
    // The sixth gets requests from many clients at once.
    for (int i = 0; i < 300; ++i) {
        fleet.request(kSixth, 0);
    }
    fleet.run_for(50ms);
    const Outcome refused = fleet.last_outcome();
    ASSERT_EQ(refused.verdict, Verdict::kLimited);
    const KeyWindow window{0, 0, fleet.current_window(0)};
    EXPECT_GT(fleet.ledger.tallies[window].idle_at_first_refusal, 20)
        << "while units are in leases";
    EXPECT_EQ(refused.retry_after, 1);
    EXPECT_GT(refused.binding()->reset, refused.now + 30s) << "the window resets much later";
    fleet.run_for(80ms);
    EXPECT_EQ(idle(), 0) << "they were recalled, and are back within 130 ms";
    // The client waits from the response on, which was sent less than a round trip later.
    fleet.run_for(std::chrono::seconds(refused.retry_after) - 130ms + 5ms);
    EXPECT_TRUE(ask().is_granted()) << "a client that waits so long is granted";
    const Outcome last = spend();
    EXPECT_EQ(fleet.ledger.granted, kRate.requests) << "all units are granted";
    EXPECT_EQ(last.retry_after, retry_after(last.now, last.binding()->reset)) << "no more come";
}

TEST_F(SixNodes, TellTheSameWithoutRedis) {
    burst(150);
    for (int i = 0; i < 300; ++i) {
        fleet.request(kSixth, 0);
    }
    fleet.run_for(50ms);
    const Outcome first = fleet.last_outcome();
    ASSERT_EQ(first.verdict, Verdict::kLimited);
    const auto calls = fleet.ledger.calls;
    fleet.request(kSixth, 0);
    EXPECT_EQ(fleet.last_outcome().verdict, Verdict::kLimited) << "at once";
    EXPECT_EQ(fleet.ledger.calls, calls);
    EXPECT_LE(fleet.last_outcome().retry_after, first.retry_after);
    // Requests that come just before the units are back do not keep out those that come then.
    fleet.run_for(std::chrono::seconds(first.retry_after) - 50ms - 20ms);
    ask();
    fleet.run_for(20ms);
    EXPECT_TRUE(ask().is_granted());
}

TEST_F(SixNodes, OneNodeAloneExpectsNothingBack) {
    for (int i = 0; i < 200; ++i) {
        for (int j = 0; j < 6; ++j) {
            fleet.request(0, 0);
        }
        fleet.run_for(10ms);
    }
    const Outcome& refused = fleet.last_outcome();
    ASSERT_EQ(refused.verdict, Verdict::kLimited);
    EXPECT_EQ(refused.retry_after, retry_after(refused.now, refused.binding()->reset));
}

// --- a demand of twice the limit

class TwiceTheLimit : public testing::TestWithParam<std::tuple<int, double>> {};

TEST_P(TwiceTheLimit, IsUsedUpAndLeavesFewUnitsIdle) {
    const auto& [nodes, rate] = GetParam();
    const ManyNodes many{.nodes = nodes,
                         .keys = 1,
                         .per_second = rate,
                         .demand = 2,
                         .traffic = Traffic::kHot,
                         .period = 60s,
                         .windows = 3};
    Fleet fleet(scenario_of(many), kSeed);
    const Figures figures = Measurement(fleet).run();
    EXPECT_LE(figures.over, 0);
    EXPECT_GE(figures.utilisation, 0.995);
    EXPECT_LE(figures.idle, units_in_horizon(many)) << "the units of one horizon, at all nodes";
    EXPECT_LE(static_cast<double>(figures.most_idle), 2 * units_in_horizon(many) + 5);
    EXPECT_LE(figures.longest_early_wait, 3) << "who is refused early is told when to come back";
}

INSTANTIATE_TEST_SUITE_P(, TwiceTheLimit,
                         testing::Combine(testing::Values(1, 5, 50),
                                          testing::Values(20, 200, 2'000)),
                         [](const auto& info) {
                             return std::to_string(std::get<0>(info.param)) + "_nodes_" +
                                    std::to_string(static_cast<int>(std::get<1>(info.param)));
                         });

// --- the calls of a key at one node

struct KeyCalls {
    double per_second;
    double least;  ///< calls per request
    double most;
};

TEST(CallsOfAKey, AreThoseOfTheHorizon) {
    for (const auto& [rate, least, most] :
         {KeyCalls{0.2, 0.95, 1.1}, KeyCalls{1, 0.4, 0.6}, KeyCalls{2, 0.16, 0.24},
          KeyCalls{5, 0.06, 0.09}, KeyCalls{20, 0.016, 0.022}, KeyCalls{200, 0.0017, 0.0027},
          KeyCalls{2'000, 0.00017, 0.0003}}) {
        const ManyNodes many{.nodes = 1,
                             .keys = 1,
                             .per_second = rate,
                             .demand = 0.5,
                             .traffic = Traffic::kHot,
                             .period = 60s,
                             .windows = rate < 100 ? 20 : 2};
        Fleet fleet(scenario_of(many), kSeed);
        const Figures figures = Measurement(fleet).run();
        EXPECT_EQ(figures.refused, 0);
        EXPECT_GE(figures.calls_per_request, least) << rate << " a second";
        EXPECT_LE(figures.calls_per_request, most) << rate << " a second";
    }
}

}  // namespace
}  // namespace tollgate::engine
