// The windows of a month in UTC: of the calendar, and of customers with a billing day.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "module/plan/window.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::sys_days;

constexpr Period kMonth = Period::month();

/// The beginning of the month after `month`.
Instant next(std::chrono::year_month month) {
    return sys_days((month + std::chrono::months(1)) / 1);
}

TEST(Month, HasTheNumberOfItsFirstDay) {
    EXPECT_EQ(window_number(Instant(0ms), kMonth), 0);
    EXPECT_EQ(window_number(sys_days(1970y / 1 / 31) + 24h - 1ms, kMonth), 0);
    EXPECT_EQ(window_number(sys_days(1970y / 2 / 1), kMonth), 31);
    EXPECT_EQ(window_number(sys_days(1971y / 1 / 1), kMonth), 365);
    EXPECT_EQ(window_start(365, kMonth), sys_days(1971y / 1 / 1));
    EXPECT_EQ(window_end(365, kMonth), sys_days(1971y / 2 / 1));
}

TEST(Month, HasItsOwnLength) {
    const auto length = [](std::chrono::year_month month) {
        return std::chrono::floor<days>(window_length(next(month), kMonth));
    };
    EXPECT_EQ(length(2024y / 2), days(29));
    EXPECT_EQ(length(2023y / 2), days(28));
    EXPECT_EQ(length(2000y / 2), days(29));
    EXPECT_EQ(length(2100y / 2), days(28));
    EXPECT_EQ(length(2400y / 2), days(29));
    EXPECT_EQ(length(1970y / 1), days(31));
    EXPECT_EQ(length(1972y / 2), days(29));
    EXPECT_EQ(length(2026y / 4), days(30));
    EXPECT_EQ(length(2026y / 12), days(31));
    EXPECT_EQ(window_length(Instant(120s), 60s), 60s) << "another period";
}

TEST(Month, EndsWhereTheNextBegins) {
    std::int64_t number = 0;
    Instant begins{};
    // 400 years: the whole cycle of the calendar. The lengths come from a table of its own.
    for (int year = 1970; year < 2370; ++year) {
        const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (const int length : {31, is_leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}) {
            const Instant ends = begins + days(length);
            ASSERT_EQ(window_end(number, kMonth), ends) << year;
            ASSERT_EQ(window_number(begins, kMonth), number) << year;
            ASSERT_EQ(window_number(ends - 1ms, kMonth), number) << year;
            ASSERT_EQ(window_length(ends, kMonth), days(length)) << year;
            number += length;
            begins = ends;
        }
    }
}

TEST(Month, RollsAtItsEnd) {
    const Instant end = sys_days(2024y / 3 / 1);
    const WindowCount february{window_number(end - 1ms, kMonth), 7, 0};
    EXPECT_EQ(roll(february, kMonth, end - 1ms), february);
    EXPECT_EQ(roll(february, kMonth, sys_days(2024y / 2 / 1)), february);
    EXPECT_EQ(roll(february, kMonth, end), (WindowCount{february.number + 29, 0, 0}));
    EXPECT_EQ(roll(february, kMonth, end - 29 * 24h - 1ms), february) << "the clock went back";
    EXPECT_EQ(roll(february, kMonth, sys_days(2023y / 12 / 31)).count, 0) << "a wrong clock";
    EXPECT_TRUE(still_counts(february, kMonth, sys_days(2024y / 2 / 1), end - 1ms));
    EXPECT_FALSE(still_counts(february, kMonth, end - 1ms, end));
    EXPECT_FALSE(still_counts(february, kMonth, end, end + 1ms));
}

/// The months of a billing day as Redis stores it.
Period month_of(std::string_view stored) {
    return Period::month(parse_stored_billing_day(stored));
}

/// The beginnings of the months from the one that contains `day` on.
std::vector<std::string> beginnings(std::string_view stored, sys_days day, std::size_t count) {
    const Period month = month_of(stored);
    std::vector<std::string> days;
    for (auto number = window_number(day, month); days.size() < count;
         number = next_window_number(number, month)) {
        days.push_back(format_time(sys_days(std::chrono::days(number))).substr(0, 10));
    }
    return days;
}

using Days = std::vector<std::string>;

TEST(DayOfBilling, BeginsOnTheLastDayOfAShorterMonth) {
    EXPECT_EQ(beginnings("31", sys_days(2027y / 1 / 31), 5),
              (Days{"2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"}));
    EXPECT_EQ(beginnings("30", sys_days(2028y / 2 / 28), 3),
              (Days{"2028-01-30", "2028-02-29", "2028-03-30"}))
        << "a leap year";
    EXPECT_EQ(beginnings("15", sys_days(2027y / 1 / 14), 2), (Days{"2026-12-15", "2027-01-15"}));
    EXPECT_EQ(month_of("1"), kMonth);
    EXPECT_EQ(month_of(""), kMonth);
    EXPECT_EQ(window_length(sys_days(2027y / 3 / 31), month_of("31")), 31 * 24h);
    EXPECT_EQ(window_length(sys_days(2027y / 2 / 28), month_of("31")), 28 * 24h);
}

TEST(DayOfBilling, OfEachDayHasMonthsThatFollowEachOther) {
    for (unsigned day = 1; day <= 31; ++day) {
        const Period month = Period::month({.day = day});
        EXPECT_EQ(month.billing(), (BillingDay{.day = day}));
        auto number = window_number(Instant(sys_days(2023y / 12 / 31)), month);
        for (sys_days today = sys_days(2024y / 1 / 1); today < sys_days(2029y / 1 / 1);
             today += days(1)) {
            const std::chrono::year_month_day date(today);
            const auto last = (date.year() / date.month() / std::chrono::last).day();
            const bool begins = date.day() == std::min(std::chrono::day(day), last);
            number = begins ? today.time_since_epoch().count() : number;
            ASSERT_EQ(window_number(today, month), number) << day << " " << format_time(today);
            ASSERT_EQ(window_number(today + 24h - 1ms, month), number);
            ASSERT_GT(window_end(number, month), Instant(today));
            if (begins) {
                ASSERT_EQ(window_end(number - 1, month), Instant(today));
            }
        }
    }
}

/// How the billing day is stored after a change on this day.
std::string changed(std::string_view before, std::string_view after, sys_days today) {
    return changed_billing_day(before, after, today);
}

TEST(DayOfBilling, EndsTheRunningMonthByTheEarlierDayIfItIsChanged) {
    constexpr sys_days kToday = 2027y / 5 / 10;
    const auto later = changed("", "15", kToday);
    EXPECT_EQ(later, "15 1 2027-05-15");
    EXPECT_EQ(beginnings(later, kToday, 3), (Days{"2027-05-01", "2027-05-15", "2027-06-15"}));
    const auto earlier = changed("15", "1", kToday);
    EXPECT_EQ(earlier, "1 15 2027-05-15");
    EXPECT_EQ(beginnings(earlier, kToday, 3), (Days{"2027-04-15", "2027-05-15", "2027-06-01"}));
    EXPECT_EQ(changed("15", "", kToday), earlier) << "the calendar again";
    EXPECT_EQ(changed(later, "15", kToday), later) << "it is set again";
    EXPECT_EQ(changed(later, "", kToday), "") << "it is taken back before it applies";
    EXPECT_EQ(changed(later, "1", kToday), "");
    EXPECT_EQ(changed(later, "20", kToday), "20 1 2027-05-20") << "another day before it applies";
    EXPECT_EQ(changed(later, "20", 2027y / 5 / 16), "20 15 2027-05-20");
    EXPECT_EQ(changed("31", "30", 2027y / 2 / 27), "30 31 2027-02-28");
    EXPECT_EQ(changed("1 15 2027-05-15", "20", 2027y / 5 / 20), "20 15 2027-06-01")
        << "the running month is a short one, which began on the 15th";
    EXPECT_EQ(changed("20 15 2027-06-01", "1", 2027y / 5 / 21), "1 15 2027-06-01")
        << "it is set back";
    EXPECT_EQ(changed("1 15 2027-05-15", "15", 2027y / 5 / 20), "15 15 2027-06-01");
    EXPECT_EQ(changed("10", "10", kToday), "10");
    EXPECT_EQ(changed("x", "10", kToday), "10 1 2027-06-01") << "what is stored is invalid";
    EXPECT_EQ(changed("x", "", kToday), "");
    EXPECT_EQ(changed("", "10", kToday), "10 1 2027-06-01")
        << "the day begins: its month has begun";
    EXPECT_THROW(changed("", "10", 2150y / 1 / 1), ParseError);
}

/// What is counted in a month stays, whatever the billing day becomes: also twice, and in a month
/// that a change has made shorter.
TEST(DayOfBilling, KeepsTheRunningMonthIfItIsChanged) {
    for (unsigned before = 1; before <= 31; ++before) {
        for (unsigned after = 1; after <= 31; ++after) {
            for (sys_days today = sys_days(2027y / 1 / 1); today < sys_days(2027y / 4 / 1);
                 today += days(3)) {
                const auto was = format_billing_day({.day = before});
                const auto first = changed(was, std::to_string(after), today);
                const auto second =
                    changed(first, std::to_string((before + after) % 31 + 1), today + days(20));
                const auto ends = [&](std::string_view stored, sys_days at) {
                    const Period month = month_of(stored);
                    return window_end(window_number(at, month), month);
                };
                WindowCount count{window_number(today, month_of(was)), 5, 0};
                ASSERT_EQ(roll(count, month_of(first), today).count, 5) << first;
                ASSERT_LE(ends(first, today), ends(was, today)) << first;
                ASSERT_EQ(roll(count, month_of(first), ends(first, today) - 1ms).count, 5);
                ASSERT_EQ(roll(count, month_of(first), ends(first, today)).count, 0);
                const sys_days later = today + days(20);
                count.number = window_number(later, month_of(first));
                ASSERT_EQ(roll(count, month_of(second), later).count, 5) << first << ", " << second;
                ASSERT_EQ(roll(count, month_of(second), ends(second, later)).count, 0);
            }
        }
    }
}

/// Any number of changes, also within a month that one of them has made shorter.
TEST(DayOfBilling, ChangesLeaveTheBeginOfTheRunningMonth) {
    std::mt19937_64 random(3);
    const auto any = [&](int from, int to) {
        return std::uniform_int_distribution(from, to)(random);
    };
    const auto begin_of = [](std::string_view stored, sys_days day) {
        return month_begin(parse_stored_billing_day(stored), day);
    };
    for (int i = 0; i < 3000; ++i) {
        std::string stored = format_billing_day({.day = static_cast<unsigned>(any(1, 31))});
        sys_days today = sys_days(2027y / 1 / 1) + days(any(0, 700));
        std::string trace = stored;
        for (int changes = 0; changes < 5; ++changes) {
            const auto begin = begin_of(stored, today);
            stored = changed(stored, std::to_string(any(1, 31)), today);
            trace += ", on " + format_time(today) + " " + stored;
            ASSERT_EQ(begin_of(stored, today), begin) << trace;
            sys_days last = begin;
            for (sys_days day = today; day < today + days(70); day += days(1)) {
                const auto current = begin_of(stored, day);
                ASSERT_TRUE(current == last || current == day) << trace;
                ASSERT_LE(day - current, days(31)) << trace;
                ASSERT_EQ(next_month_begin(parse_stored_billing_day(stored), day) == day + days(1),
                          begin_of(stored, day + days(1)) == day + days(1))
                    << trace;
                last = current;
            }
            today += days(any(0, 40));
        }
    }
}

TEST(DayOfBilling, IsParsed) {
    for (const std::string_view text : {"15", "31", "15 1 2027-05-15", "1 31 2027-02-28", ""}) {
        EXPECT_EQ(format_billing_day(parse_stored_billing_day(text)), text);
    }
    EXPECT_EQ(format_billing_day(parse_stored_billing_day("1")), "") << "the calendar";
    for (const std::string_view text :
         {"0", "32", "-1", "1.5", "x", "15 ", "15 1", "15 1 ", "15 0 2027-05-15", "15 1 2027-05-32",
          "15 1 1970-01-01", "15 1 2149-06-08", "15 1 1969-05-15"}) {
        EXPECT_THROW(parse_stored_billing_day(text), ParseError) << text;
    }
    for (const std::string_view text : {"", "15 1 2027-05-15", "0", "32", " 1", "first"}) {
        EXPECT_THROW(parse_billing_day(text), ParseError) << text;
    }
    const auto latest = Period::month({.day = 31, .before = 30, .from = kLatestBillingChange});
    EXPECT_EQ(latest.billing(), (BillingDay{31, 30, kLatestBillingChange}));
    EXPECT_TRUE(latest.is_month());
    EXPECT_FALSE(latest.is_balance());
    EXPECT_LT(latest.code(), Period::balance().code());
}

}  // namespace
}  // namespace tollgate
