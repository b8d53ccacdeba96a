// In which windows of which tables a request is counted, and when these expire.

#include <array>
#include <random>

#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

TEST_F(AcquireScript, GrantsUntilAWindowIsExhausted) {
    Acquire acquire = acquire_of({{3, kHour}});
    acquire.count = 2;
    auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(acquired.limited, 0);
    EXPECT_EQ(acquired.windows, (WindowCounts{{number(kHour), 2, 0}}));
    EXPECT_GE(acquired.now, start_);
    EXPECT_LE(acquired.now, now());
    acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 1);
    EXPECT_EQ(acquired.limited, 1);
    EXPECT_EQ(acquired.windows[0].count, 3);
    const auto before = dirty();
    acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 0);
    EXPECT_EQ(acquired.limited, 2);
    EXPECT_EQ(acquired.windows[0].count, 3);
    EXPECT_EQ(dirty(), before);
    EXPECT_EQ(count(kHour), 3);
}

TEST_F(AcquireScript, CountsInEveryWindowOfEveryTable) {
    Acquire acquire =
        acquire_of(Quotas{table("api", {{10, kHour}, {100, kDay}}), table("search", {{4, kDay}})});
    acquire.count = 7;
    const auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 4);
    EXPECT_EQ(acquired.limited, 3);
    EXPECT_EQ(acquired.windows,
              (WindowCounts{{number(kHour), 4, 0}, {number(kDay), 4, 0}, {number(kDay), 4, 0}}));
    EXPECT_EQ(count(kHour), 4);
    EXPECT_EQ(count(kDay), 4);
    EXPECT_EQ(count(kDay, "search"), 4);
    EXPECT_EQ(redis_->integer({"HLEN", keys_.quota("k", "api")}), 4);
}

TEST_F(AcquireScript, TakesWhatARequestCosts) {
    Acquire acquire = acquire_of({{10, kHour}});
    acquire.demand.cost = 3;
    acquire.count = 5;
    EXPECT_EQ(decide(acquire).granted, 3);
    EXPECT_EQ(count(kHour), 9);
    acquire.demand.cost = 0;
    const auto before = dirty();
    const auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 5);
    EXPECT_EQ(acquired.windows[0].count, 9);
    EXPECT_EQ(dirty(), before);
    acquire.quotas = acquire_of({{5, kHour}}).quotas;  // over the limit
    EXPECT_EQ(decide(acquire).granted, 5);
    acquire.demand.cost = 1;
    EXPECT_EQ(decide(acquire).granted, 0);
}

TEST_F(AcquireScript, BeginsANewWindow) {
    put(kHour, 1, 7);
    put(kDay, 0, 9);
    const auto acquired = decide(acquire_of({{10, kHour}, {100, kDay}}));
    EXPECT_EQ(acquired.windows, (WindowCounts{{number(kHour), 1, 0}, {number(kDay), 10, 0}}));
    EXPECT_EQ(field("360000.number"), std::to_string(number(kHour)));
    EXPECT_EQ(field("360000.previous"), "");
}

TEST_F(AcquireScript, KeepsAWindowToComeAfterTheClockWentBack) {
    put(kHour, -1, 7);
    EXPECT_EQ(decide(acquire_of({{10, kHour}})).windows[0], (WindowCount{number(kHour) + 1, 8, 0}));
    put(kHour, -2, 7);
    EXPECT_EQ(decide(acquire_of({{10, kHour}})).windows[0], (WindowCount{number(kHour), 1, 0}));
    put(1s, -50, 7);
    EXPECT_EQ(decide(acquire_of({{10, 1s}})).windows[0].count, 8);
}

TEST_F(AcquireScript, ExpiresWithItsLongestWindow) {
    const auto key = keys_.quota("k", "api");
    decide(acquire_of({{10, kHour}, {100, kDay}}));
    EXPECT_EQ(expiry(key), window_end(number(kDay), kDay));
    redis_->run({"PEXPIRE", key, "500000"});
    const auto brought_forward = expiry(key);
    decide(acquire_of({{10, kHour}, {100, kDay}}));
    EXPECT_EQ(expiry(key), brought_forward) << "no window is new";
    decide(acquire_of({{10, kHour}, {100, kDay}, {1000, kWeek}}));
    EXPECT_EQ(expiry(key), window_end(number(kWeek), kWeek));
    put(kHour, 1, 0);
    decide(acquire_of({{10, kHour}}));  // a plan with shorter windows
    EXPECT_EQ(expiry(key), window_end(number(kWeek), kWeek));
}

TEST_F(AcquireScript, ExpiresWithTheLastWindowIfShorterOnesDoNotDivideTheLongest) {
    constexpr std::chrono::seconds kSevenths = kDay / 7 + 1s;
    const auto key = keys_.quota("k", "api");
    decide(acquire_of({{10, kSevenths}, {100, kDay}}));
    const Instant end = window_end(number(kDay), kDay);
    EXPECT_GE(expiry(key), window_end(window_number(end - 1ms, kSevenths), kSevenths))
        << "the shorter window that is current when the longest ends";
    EXPECT_LE(expiry(key), end + kSevenths);
    redis_->run({"DEL", key});
    decide(acquire_of({{10, kSevenths}, {100, kDay}}, true));
    EXPECT_EQ(expiry(key), end + kDay) << "the shorter windows end earlier";
    redis_->run({"DEL", key});
    const auto month = window_number(start_, Period::month());
    decide(acquire_of({{10, 24h * 7}, {100, Period::month()}}));
    EXPECT_EQ(expiry(key), window_end(month, Period::month()) + 24h * 7);
    redis_->run({"DEL", key});
    decide(acquire_of({{10, Period::month()}, {100, 24h * 60}}));
    EXPECT_EQ(expiry(key), window_end(window_number(start_, 24h * 60), 24h * 60) + 24h * 31);
}

TEST_F(AcquireScript, CountsTheMonthOfTheCalendar) {
    constexpr Period kMonth = Period::month();
    const auto key = keys_.quota("k", "api");
    const Acquire acquire = acquire_of({{100, 1h}, {1000, 24h}, {10'000, kMonth}});
    const Instant first = std::chrono::sys_days(1970y / 1 / 1);
    const Instant last = std::chrono::sys_days(2399y / 12 / 31);
    std::vector<Instant> times{first, last};
    for (int year = 1970; year < 2400; year += year % 100 < 96 && year > 2030 ? 7 : 1) {
        for (int month = 1; month <= 12; ++month) {
            const Instant begins = std::chrono::sys_days(std::chrono::year(year) / month / 1);
            times.push_back(begins);
            times.push_back(std::max(begins - 1ms, first));
        }
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 500; ++i) {
        times.emplace_back(std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(
            0, last.time_since_epoch().count())(random)));
    }
    for (const Instant time : times) {
        redis_->run({"DEL", key});
        set_clock(time);
        const auto acquired = decide(acquire);
        ASSERT_EQ(acquired.windows[0], (WindowCount{window_number(time, 1h), 1, 0}));
        ASSERT_EQ(acquired.windows[1], (WindowCount{window_number(time, 24h), 1, 0}));
        ASSERT_EQ(acquired.windows[2], (WindowCount{window_number(time, kMonth), 1, 0}))
            << time.time_since_epoch().count();
        const Instant end = window_end(acquired.windows[2].number, kMonth);
        if (end > start_ + 1h) {
            ASSERT_EQ(expiry(key), end) << time.time_since_epoch().count();
        }
    }
}

TEST_F(AcquireScript, CountsTheMonthsOfABillingDay) {
    const auto key = keys_.quota("k", "api");
    std::mt19937_64 random(7);
    const auto any = [&](std::int64_t from, std::int64_t to) {
        return std::uniform_int_distribution(from, to)(random);
    };
    for (int i = 0; i < 2000; ++i) {
        // Most times are near the change of the day, or at the end of a month.
        const auto today = std::chrono::sys_days(2027y / 1 / 1) + std::chrono::days(any(0, 1500));
        BillingDay billing{.day = static_cast<unsigned>(any(1, 31))};
        if (i % 2 == 0) {
            billing = parse_stored_billing_day(changed_billing_day(
                format_billing_day(billing), std::to_string(any(1, 31)), today));
        }
        const Period month = Period::month(billing);
        const Acquire acquire = acquire_of({{100, 1h}, {10'000, month}});
        const Instant time =
            today + std::chrono::days(any(-3, 40)) + (i % 3 == 0 ? 0ms : 24h - 1ms);
        redis_->run({"DEL", key});
        set_clock(time);
        const auto number = window_number(time, month);
        ASSERT_EQ(decide(acquire).windows[1], (WindowCount{number, 1, 0}))
            << format_billing_day(billing) << " " << time.time_since_epoch().count();
        ASSERT_EQ(expiry(key), window_end(number, month)) << format_billing_day(billing);
        // Another day: what was counted stays as long as the node says.
        const Period other = Period::month(parse_stored_billing_day(
            changed_billing_day(format_billing_day(billing), std::to_string(any(1, 31)),
                                std::chrono::floor<std::chrono::days>(time))));
        const Instant later = time + std::chrono::days(any(0, 40));
        set_clock(later);
        const auto rolled = roll({number, 1, 0}, other, later);
        ASSERT_EQ(decide(acquire_of({{100, 1h}, {10'000, other}})).windows[1],
                  (WindowCount{rolled.number, rolled.count + 1, 0}))
            << format_billing_day(other.billing());
    }
}

TEST_F(AcquireScript, CountsAMonthUntilItEnds) {
    constexpr Period kMonth = Period::month();
    const Acquire acquire = acquire_of({{3, kMonth}});
    const Instant end = std::chrono::sys_days(2124y / 3 / 1);
    set_clock(end - 29 * 24h);
    EXPECT_EQ(decide(acquire).granted, 1);
    set_clock(end - 1ms);
    EXPECT_EQ(decide(acquire).windows[0].count, 2);
    EXPECT_EQ(field("month.number"), std::to_string(window_number(end - 1ms, kMonth)));
    EXPECT_EQ(field("month.count"), "2");
    set_clock(end);
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{window_number(end, kMonth), 1, 0}));
    set_clock(end - 1ms);
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{window_number(end, kMonth), 2, 0}))
        << "the clock went back";
    set_clock(end - 30 * 24h);
    EXPECT_EQ(decide(acquire).windows[0].count, 1) << "the month was counted by a wrong clock";
}

TEST_F(AcquireScript, KeepsAMonthToComeUntilItEnds) {
    constexpr Period kMonth = Period::month();
    const auto key = keys_.quota("k", "api");
    const auto next = next_window_number(window_number(start_, kMonth), kMonth);
    redis_->run({"HSET", key, "month.number", std::to_string(next), "month.count", "1"});
    EXPECT_EQ(decide(acquire_of({{3, kMonth}})).windows[0], (WindowCount{next, 2, 0}));
    EXPECT_GE(expiry(key), window_end(next, kMonth));
    EXPECT_LE(expiry(key), window_end(next, kMonth) + 3 * 24h);
}

TEST_F(AcquireScript, SlidesByTheEstimate) {
    put(kDay, 1, 1000);
    const auto before = now();
    Acquire acquire = acquire_of({{1500, kDay}}, true);
    acquire.count = 2000;
    const auto acquired = decide(acquire);
    const WindowCount found{number(kDay), 0, 1000};
    const auto least = 1500 - spent(found, kDay, true, before);
    EXPECT_GE(acquired.granted, least);
    EXPECT_LE(acquired.granted, 1500 - spent(found, kDay, true, now()));
    EXPECT_EQ(acquired.windows[0], (WindowCount{found.number, acquired.granted, 1000}));
    EXPECT_EQ(field("8640000.previous"), "1000");
    EXPECT_EQ(expiry(keys_.quota("k", "api")), window_end(found.number + 1, kDay));
}

TEST_F(AcquireScript, KeepsTheCountOfAWindowThatSlidesFromNowOn) {
    decide(acquire_of({{10, kDay}}));
    const auto acquired = decide(acquire_of({{10, kDay}}, true));
    EXPECT_EQ(acquired.windows[0], (WindowCount{number(kDay), 2, 0}));
    EXPECT_EQ(field("8640000.previous"), "0");
    EXPECT_EQ(expiry(keys_.quota("k", "api")), window_end(number(kDay) + 1, kDay));
}

TEST_F(AcquireScript, WhatIsNoNumberIsNoCount) {
    std::array<std::string, 8> ids;
    std::vector<Acquire> acquires;
    for (int i = 0; i < 8; ++i) {
        ids.at(i) = "k" + std::to_string(i);
        Acquire& acquire = acquires.emplace_back(acquire_of({{10, kHour}, {20, kDay}}));
        acquire.id = ids.at(i);
        const std::array values{std::to_string(number(kHour)), std::string("3"),
                                std::to_string(number(kDay)), std::string("4")};
        const auto value = [&](int which) { return i == which ? "x" : values.at(which); };
        redis_->run({"HSET", keys_.quota(ids.at(i), "api"), "360000.number", value(0),
                     "360000.count", value(1), "8640000.number", value(2), "8640000.count",
                     value(3)});
    }
    redis_->run({"HDEL", keys_.quota("k4", "api"), "360000.count"});
    redis_->run({"HDEL", keys_.quota("k5", "api"), "8640000.count"});
    redis_->run({"HDEL", keys_.quota("k6", "api"), "360000.number"});
    const auto results = decide(acquires);
    const std::array<std::pair<int, int>, 8> expected{
        {{1, 5}, {1, 5}, {4, 1}, {4, 1}, {1, 5}, {4, 1}, {1, 5}, {4, 5}}};
    for (int i = 0; i < 8; ++i) {
        const auto& windows = std::get<Acquired>(results[i]).windows;
        EXPECT_EQ(windows[0], (WindowCount{number(kHour), expected.at(i).first, 0})) << i;
        EXPECT_EQ(windows[1], (WindowCount{number(kDay), expected.at(i).second, 0})) << i;
    }
}

TEST_F(AcquireScript, CountsLargeNumbers) {
    constexpr std::int64_t kLimit = 9'000'000'000'000;
    for (const std::int64_t units : {2'147'483'645LL, 4'000'000'000'000LL}) {
        put(kHour, 0, units);
        put(kDay, 0, units + 1);
        Acquire acquire = acquire_of({{kLimit, kHour}, {kLimit, kDay}});
        for (int i = 1; i <= 4; ++i) {
            const auto acquired = decide(acquire);
            EXPECT_EQ(acquired.windows[0].count, units + i);
            EXPECT_EQ(acquired.windows[1].count, units + 1 + i);
            EXPECT_EQ(count(kHour), units + i);
            EXPECT_EQ(count(kDay), units + 1 + i);
        }
    }
}

TEST_F(AcquireScript, ARequestThatCostsNothingUntilItIsSettledNeedsAUnit) {
    for (const bool sliding : {false, true}) {
        redis_->run({"FLUSHALL"});
        Acquire acquire = acquire_of({{10, kHour}, {1000, kDay}}, sliding);
        acquire.demand.cost = {0, true};
        acquire.count = 3;
        EXPECT_EQ(decide(acquire).granted, 3);
        put(kHour, 0, 9);
        EXPECT_EQ(decide(acquire).granted, 3) << "one is left";
        put(kHour, 0, 10);
        const auto refused = decide(acquire);
        EXPECT_EQ(refused.granted, 0);
        EXPECT_EQ(refused.limited, 3);
        EXPECT_EQ(refused.windows[0].count, 10);
        acquire.demand.cost = 0;
        EXPECT_EQ(decide(acquire).granted, 3) << "it only reads the quota";
    }
}

}  // namespace
}  // namespace tollgate::redis
