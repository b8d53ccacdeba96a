// Balances, and limits that refuse nothing.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "module/plan/limits.hpp"
#include "module/plan/table_quota.hpp"
#include "module/plan/window_rest.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;
using PlanWords = std::vector<std::string_view>;

const Rate kBalance = Rate::balance();

TEST(Balance, IsWrittenAsAWord) {
    EXPECT_EQ(parse_limits("balance 60r/m").rates, (std::vector<Rate>{{60, 60s}, kBalance}))
        << "the longest";
    EXPECT_EQ(format_limits(parse_limits("balance 60r/m")), "60r/m balance");
    EXPECT_EQ(parse_stored_period(stored_period(Period::balance())), Period::balance());
    EXPECT_EQ(policy_name("prepaid", Period::balance()), "prepaid-balance");
    for (const auto* text : {"balance balance", "60r/balance", "balance burst=5", "Balance"}) {
        EXPECT_THROW(parse_limits(text), ParseError) << text;
    }
    EXPECT_THROW(parse_plan(PlanWords{"p", "balance", "window=sliding"}), ParseError);
}

TEST(Balance, HasNothingLeftUntilRedisHasCountedIt) {
    const Instant now(1'795'000'000'000ms);
    const WindowCount unknown = roll(WindowCount{}, kBalance, now);
    EXPECT_EQ(unknown, (WindowCount{kBalanceWindow, kMostBalance, 0}));
    EXPECT_EQ(units_left(unknown, kBalance, false, now), 0);
    const WindowCount counted{kBalanceWindow, kMostBalance - 70, 0};
    EXPECT_EQ(roll(counted, kBalance, kLatestInstant), counted) << "at any time";
    EXPECT_EQ(units_left(counted, kBalance, false, now), 70);
    EXPECT_TRUE(still_counts(counted, kBalance, now, now + 1h));
    EXPECT_FALSE(still_counts(WindowCount{}, kBalance, now, now));
}

TEST(Balance, EndsNever) {
    EXPECT_EQ(window_end(kBalanceWindow, Period::balance()), kLatestInstant);
    EXPECT_EQ(window_end(kBalanceWindow - 1, Period::balance()), Instant());
    EXPECT_EQ(window_number(kLatestInstant, Period::balance()), kBalanceWindow);
}

TEST(Balance, BelongsToNoValue) {
    PlanTable table;
    table.name = "api";
    table.variable = "user";
    table.plans.push_back(parse_plan(PlanWords{"own", "custom"}));
    KeyRecord key;
    key.plan = "own";
    key.limits = "balance";
    const std::array<const PlanTable*, 1> tables{&table};
    EXPECT_THROW(choose_quotas(tables, key), ParseError);
    key.limits = "5r/d";
    EXPECT_TRUE(choose_quotas(tables, key));
}

WindowState exhausted(const Rate& rate) {
    return {.rate = rate, .remaining = 0, .reset = {}, .exhausted = true};
}

TEST(Balance, IsFoundAmongTheExhaustedWindows) {
    const std::vector<WindowState> windows{exhausted({60, 60s}), exhausted(kBalance)};
    EXPECT_EQ(exhausted_balance(windows), &windows[1]);
    EXPECT_EQ(exhausted_balance(std::span(windows).first(1)), nullptr);
    const std::vector<WindowState> left{{.rate = kBalance, .remaining = 5, .reset = {}}};
    EXPECT_EQ(exhausted_balance(left), nullptr);
}

TEST(SoftLimits, StandAtTheEnd) {
    const Limits limits = parse_limits("60r/m 1000r/d over=allow");
    EXPECT_TRUE(limits.allows_over);
    EXPECT_EQ(format_limits(limits), "60r/m 1000r/d over=allow");
    EXPECT_TRUE(parse_plan(PlanWords{"p", "60r/m", "window=sliding", "over=allow"}).allows_over);
    EXPECT_FALSE(parse_plan(PlanWords{"p", "60r/m"}).allows_over);
    for (const auto* text : {"over=allow 60r/m", "60r/m over=deny", "60r/m over=", "over=allow",
                             "10r/s burst=5 over=allow", "balance over=allow",
                             "unlimited over=allow", "60r/m over=allow over=allow"}) {
        EXPECT_THROW(parse_limits(text), ParseError) << text;
    }
    for (const auto* word : {"custom", "unlimited"}) {
        EXPECT_THROW(parse_plan(PlanWords{"p", word, "over=allow"}), ParseError) << word;
    }
}

TEST(SoftLimits, AreShownAndRefuseNothing) {
    PlanTable table;
    table.name = "api";
    table.history = std::chrono::days(3);
    table.plans.push_back(parse_plan(PlanWords{"pro", "60r/m", "over=allow"}));
    KeyRecord key;
    key.plan = "pro";
    const std::array<const PlanTable*, 1> tables{&table};
    const auto quotas = choose_quotas(tables, key);
    ASSERT_TRUE(quotas);
    const TableQuota& quota = quotas->front();
    EXPECT_EQ(quota.rates, (std::vector<Rate>{{kNoLimit, 60s}, {kNoLimit, 24h}}));
    EXPECT_EQ(quota.shown_limit(0), 60);
    EXPECT_EQ(quota.shown_rate(0), (Rate{60, 60s}));
    EXPECT_EQ(quota.shown_limit(1), kNoLimit) << "the day of the history";
    EXPECT_EQ(quota.policies, (std::vector<std::string>{"pro-minute", ""}));
    EXPECT_FALSE(have_limit(*quotas));
    EXPECT_FALSE(exceeds_limit(*quotas, Cost(1000)));
    EXPECT_TRUE(is_small(quota));
}

TEST(SoftLimits, AreNamedByWhatExceedsThem) {
    std::vector<WindowState> windows{
        {.rate = {60, 60s}, .remaining = 5, .reset = {}, .table = "api", .policy = "pro-minute"},
        {.rate = {90, 1h}, .remaining = 5, .reset = {}, .table = "api", .policy = "pro-hour"}};
    EXPECT_EQ(exceeded(windows), "");
    for (WindowState& window : windows) {
        window.over = 0;
        window.set_rest(0);
    }
    EXPECT_EQ(exceeded(windows), "") << "the last unit exceeds nothing";
    windows[0].set_rest(-3);
    EXPECT_EQ(windows[0].remaining, 0);
    EXPECT_EQ(windows[0].over, 3);
    EXPECT_EQ(windows[0].rest(), -3);
    EXPECT_EQ(exceeded(windows), "api:pro-minute");
    windows[1].set_rest(windows[1].rest() - 1);
    EXPECT_EQ(exceeded(windows), "api:pro-minute, api:pro-hour");
    windows[0].set_rest(2);
    EXPECT_EQ(windows[0].over, 0);
}

}  // namespace
}  // namespace tollgate
