// The windows of a calendar month in UTC.

#include <gtest/gtest.h>

#include "module/plan/window.hpp"

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

TEST(Month, CountsFromTheEpoch) {
    EXPECT_EQ(window_number(Instant(0ms), kMonth), 0);
    EXPECT_EQ(window_number(sys_days(1970y / 1 / 31) + 24h - 1ms, kMonth), 0);
    EXPECT_EQ(window_number(sys_days(1970y / 2 / 1), kMonth), 1);
    EXPECT_EQ(window_number(sys_days(1971y / 1 / 1), kMonth), 12);
    EXPECT_EQ(window_number(sys_days(2026y / 11 / 23), kMonth), 56 * 12 + 10);
    EXPECT_EQ(window_end(-1, kMonth), Instant(0ms)) << "the month before";
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
            ++number;
            begins = ends;
        }
    }
}

TEST(Month, RollsAtItsEnd) {
    const Instant end = sys_days(2024y / 3 / 1);
    const WindowCount february{window_number(end - 1ms, kMonth), 7, 0};
    EXPECT_EQ(roll(february, kMonth, end - 1ms), february);
    EXPECT_EQ(roll(february, kMonth, sys_days(2024y / 2 / 1)), february);
    EXPECT_EQ(roll(february, kMonth, end), (WindowCount{february.number + 1, 0, 7}));
    EXPECT_EQ(roll(february, kMonth, end - 29 * 24h - 1ms), february) << "the clock went back";
    EXPECT_EQ(roll(february, kMonth, sys_days(2023y / 12 / 31)).count, 0) << "a wrong clock";
    EXPECT_TRUE(still_counts(february, kMonth, sys_days(2024y / 2 / 1), end - 1ms));
    EXPECT_FALSE(still_counts(february, kMonth, end - 1ms, end));
    EXPECT_FALSE(still_counts(february, kMonth, end, end + 1ms));
}

}  // namespace
}  // namespace tollgate
