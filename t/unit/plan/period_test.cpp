#include "module/plan/period.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(PeriodOrder, IsByLengthWithAMonthBetween30And31Days) {
    const std::vector<Period> ascending{1s,       24h,      28 * 24h, 30 * 24h, Period::month(),
                                        31 * 24h, 366 * 24h};
    EXPECT_TRUE(std::ranges::is_sorted(ascending));
    EXPECT_EQ(std::ranges::adjacent_find(ascending), ascending.end());
}

TEST(PeriodOrder, HasNoLengthThatEqualsAMonth) {
    const Period mean = Period::month().length();
    EXPECT_NE(mean, Period::month());
    EXPECT_TRUE(mean < Period::month() || Period::month() < mean);
    EXPECT_TRUE(Period::month().is_month());
    EXPECT_FALSE(mean.is_month());
}

TEST(PeriodCode, IsReadBackAndFitsSharedMemory) {
    for (const Period period : {Period(1s), Period(Period::kLongest), Period::month()}) {
        EXPECT_EQ(Period::of_code(period.code()), period);
        EXPECT_GE(period.code(), 1);
        EXPECT_LT(period.code(), 1U << 29U);
    }
}

TEST(ParsePeriod, ReadsUnitsMultiplesAndTheMonth) {
    EXPECT_EQ(parse_period("s"), Period(1s));
    EXPECT_EQ(parse_period("15m"), Period(15min));
    EXPECT_EQ(parse_period("366d"), Period(Period::kLongest));
    EXPECT_EQ(parse_period("month"), Period::month());
    for (const auto* text : {"", "367d", "0m", "-1m", "mm", "15", "months", "1month", "2month",
                             "Month", "mont", " month", "month "}) {
        EXPECT_FALSE(parse_period(text)) << text;
    }
}

TEST(FormatPeriod, IsReadBack) {
    for (const auto* text : {"s", "m", "15m", "h", "d", "7d", "month"}) {
        EXPECT_EQ(format_period(*parse_period(text)), text);
    }
    EXPECT_EQ(format_period(60s), "m");
    EXPECT_EQ(format_period(36h), "36h");
}

TEST(PeriodName, NamesOneAndMany) {
    EXPECT_EQ(period_name(1s), "second");
    EXPECT_EQ(period_name(60s), "minute");
    EXPECT_EQ(period_name(900s), "15-minutes");
    EXPECT_EQ(period_name(24h), "day");
    EXPECT_EQ(period_name(48h), "2-days");
    EXPECT_EQ(period_name(Period::month()), "month");
}

TEST(StoredPeriod, IsReadBack) {
    EXPECT_EQ(stored_period(24h), "86400");
    EXPECT_EQ(stored_period(Period::month()), "month");
    for (const Period period : {Period(1s), Period(Period::kLongest), Period::month()}) {
        EXPECT_EQ(parse_stored_period(stored_period(period)), period);
    }
    for (const auto* text : {"", "0", "-1", "60s", "31622401", "Month"}) {
        EXPECT_FALSE(parse_stored_period(text)) << text;
    }
}

}  // namespace
}  // namespace tollgate
