#include "module/plan/window_decision.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "t/unit/engine/redis_model.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

constexpr auto kBegin = Instant(1795428000s);

/// The windows of a quota with their counts.
struct Quota {
    Quota(const std::vector<Rate>& rates, bool sliding) : counts(rates.size()) {
        for (std::size_t i = 0; i < rates.size(); ++i) {
            windows.push_back({rates[i], sliding, &counts[i]});
        }
    }

    /// The number of the window that refuses; -1: granted.
    int decide(Instant now, std::int64_t cost = 1) {
        const auto by = decide_windows(windows, cost, now);
        return by ? static_cast<int>(*by) : -1;
    }

    std::vector<WindowCount> counts;
    std::vector<CountedWindow> windows;
};

TEST(WindowDecision, CountsInAllWindowsOrInNone) {
    Quota quota({{2, 60s}, {3, 86400s}}, false);
    EXPECT_EQ(quota.decide(kBegin), -1);
    EXPECT_EQ(quota.decide(kBegin), -1);
    EXPECT_EQ(quota.decide(kBegin + 59999ms), 0) << "the minute is exhausted";
    EXPECT_EQ(quota.decide(kBegin + 60s), -1);
    EXPECT_EQ(quota.decide(kBegin + 60s), 1) << "the day is exhausted";
    EXPECT_EQ(quota.decide(kBegin + 120s), 1);
    EXPECT_EQ(quota.counts[1].count, 3);
    EXPECT_EQ(quota.decide(kBegin + 24h), -1);
}

TEST(WindowDecision, NamesTheWindowThatResetsLast) {
    Quota quota({{1, 60s}, {1, 86400s}}, false);
    EXPECT_EQ(quota.decide(kBegin), -1);
    EXPECT_EQ(quota.decide(kBegin), 1);
}

TEST(WindowDecision, TakesTheCost) {
    Quota quota({{10, 60s}}, false);
    EXPECT_EQ(quota.decide(kBegin, 7), -1);
    EXPECT_EQ(quota.decide(kBegin, 4), 0);
    EXPECT_EQ(quota.decide(kBegin, 3), -1);
    EXPECT_EQ(quota.decide(kBegin, 1), 0);
    EXPECT_EQ(quota.decide(kBegin, 0), -1) << "takes nothing";
    EXPECT_EQ(quota.decide(kBegin + 60s, 11), 0) << "more than the limit";
}

TEST(WindowDecision, Slides) {
    Quota quota({{4, 60s}}, true);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(quota.decide(kBegin + 59s), -1);
    }
    EXPECT_EQ(quota.decide(kBegin + 60s), 0);
    EXPECT_EQ(quota.decide(kBegin + 75s), -1) << "a quarter of the previous window has passed";
    EXPECT_EQ(quota.decide(kBegin + 75s), 0);
}

TEST(WindowDecision, PutsALateRequestIntoItsOwnWindow) {
    Quota quota({{2, 60s}, {4, 86400s}}, false);
    EXPECT_EQ(quota.decide(kBegin + 10s), -1);
    EXPECT_EQ(quota.decide(kBegin + 70s), -1);
    EXPECT_EQ(quota.decide(kBegin + 20s), -1) << "the second one of the minute before";
    EXPECT_EQ(quota.decide(kBegin + 30s), 0) << "the third one";
    EXPECT_EQ(quota.counts[0].count, 1) << "the current minute does not count it";
    EXPECT_EQ(quota.decide(kBegin + 130s), -1);
    EXPECT_EQ(quota.decide(kBegin + 140s), 1) << "but the day does";
    EXPECT_EQ(quota.decide(kBegin + 20s), 1) << "… also for a minute that is forgotten";
    Quota forgotten({{1, 60s}}, false);
    EXPECT_EQ(forgotten.decide(kBegin + 180s), -1);
    EXPECT_EQ(forgotten.decide(kBegin), -1);
    EXPECT_EQ(forgotten.decide(kBegin), -1);
    EXPECT_EQ(forgotten.decide(kBegin + 180s), 0);
}

/// Random requests of one id, decided here and by the model of the acquire script.
void compare_with_model(const std::vector<TableQuota>& tables, unsigned seed) {
    std::mt19937 random(seed);
    RedisModel model;
    const auto quotas = std::make_shared<const Quotas>(tables);
    std::vector<WindowCount> counts(window_count(tables));
    std::vector<CountedWindow> windows;
    for (const TableQuota& quota : tables) {
        for (const Rate& rate : quota.rates) {
            windows.push_back({rate, quota.sliding, &counts[windows.size()]});
        }
    }
    int granted = 0;
    constexpr int kRequests = 3000;
    Instant now = kBegin;
    for (int i = 0; i < kRequests; ++i) {
        now += std::chrono::milliseconds(random() % (random() % 50 == 0 ? 20'000 : 400));
        const auto cost = static_cast<std::int64_t>(random() % 4);
        const auto acquired =
            model.run({.id = "k", .quotas = quotas, .demand = {.cost = cost}}, now);
        const bool is_granted = !decide_windows(windows, cost, now);
        ASSERT_EQ(is_granted, acquired.granted == 1) << "seed " << seed << ", request " << i;
        granted += is_granted ? 1 : 0;
    }
    EXPECT_GT(granted, kRequests / 100);
    EXPECT_LT(granted, kRequests);
}

TEST(WindowDecision, DecidesAsTheScript) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        compare_with_model(
            {{.table = "api", .rates = {{5, 1s}, {40, 10s}, {90, 60s}, {500, 600s}}}}, seed);
        compare_with_model({{.table = "api", .rates = {{7, 2s}, {60, 15s}}, .sliding = true}},
                           seed);
        compare_with_model({{.table = "api", .rates = {{9, 2s}}, .sliding = true},
                            {.table = "search", .rates = {{3, 2s}, {50, 60s}}}},
                           seed);
    }
}

}  // namespace
}  // namespace tollgate
