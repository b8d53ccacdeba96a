#include "module/plan/rate.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "module/plan/bucket.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(ParseRate, ReadsEveryUnit) {
    EXPECT_EQ(parse_rate("1r/s"), (Rate{1, 1s}));
    EXPECT_EQ(parse_rate("60r/m"), (Rate{60, 60s}));
    EXPECT_EQ(parse_rate("7r/h"), (Rate{7, 3600s}));
    EXPECT_EQ(parse_rate("1000r/d"), (Rate{1000, 86400s}));
}

TEST(ParseRate, ReadsMultiplesOfAUnit) {
    EXPECT_EQ(parse_rate("100r/15m"), (Rate{100, 900s}));
    EXPECT_EQ(parse_rate("100r/10s"), (Rate{100, 10s}));
    EXPECT_EQ(parse_rate("5r/1d"), (Rate{5, 86400s}));
}

TEST(ParseRate, ReadsTheMonth) {
    EXPECT_EQ(parse_rate("10000r/month"), (Rate{10'000, Period::month()}));
    EXPECT_EQ(format_rate({10'000, Period::month()}), "10000r/month");
}

TEST(ParseRate, EndsAtTheLargestCountAndPeriod) {
    EXPECT_EQ(parse_rate("1000000000000r/s"), (Rate{1'000'000'000'000, 1s}));
    EXPECT_EQ(parse_rate("1r/366d"), (Rate{1, 31'622'400s}));
    EXPECT_EQ(parse_rate("1r/31622400s"), (Rate{1, 31'622'400s}));
    EXPECT_THROW(parse_rate("1000000000001r/s"), ParseError);
    EXPECT_THROW(parse_rate("1r/367d"), ParseError);
    EXPECT_THROW(parse_rate("1r/31622401s"), ParseError);
    EXPECT_THROW(parse_rate("1r/8785h"), ParseError);
    EXPECT_THROW(parse_rate("99999999999999999999r/s"), ParseError);
    EXPECT_THROW(parse_rate("1r/99999999999999999999s"), ParseError);
}

class MalformedRate : public testing::TestWithParam<const char*> {};

TEST_P(MalformedRate, IsRefusedWithItsText) {
    try {
        parse_rate(GetParam());
        FAIL() << "no error";
    } catch (const ParseError& error) {
        EXPECT_NE(std::string(error.what()).find(GetParam()), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(Texts, MalformedRate,
                         testing::Values("", "r/m", "60", "60r", "60r/", "60/m", "60r/w", "60r/mm",
                                         "60r/M", "60R/m", "0r/m", "-1r/m", "+1r/m", "1.5r/m",
                                         " 60r/m", "60r/m ", "60 r/m", "60r/0m", "60r/-1m",
                                         "60r/15", "0x10r/m", "1e3r/m", "60r/2month", "60r/1month",
                                         "60r/months", "60r/Month", "60rr/m"));

TEST(ParseRates, SortsByPeriod) {
    const auto rates = parse_rates(words_of("1000000r/d  5000r/m"));
    ASSERT_EQ(rates.size(), 2U);
    EXPECT_EQ(rates[0], (Rate{5000, 60s}));
    EXPECT_EQ(rates[1], (Rate{1'000'000, 86400s}));
}

TEST(ParseRates, IgnoresSpacesAround) {
    EXPECT_EQ(parse_rates(words_of("  1r/s ")).size(), 1U);
}

TEST(ParseRates, TakesOneToFour) {
    EXPECT_EQ(parse_rates(words_of("1r/s 2r/m 3r/h 4r/d")).size(), 4U);
    EXPECT_THROW(parse_rates(words_of("")), ParseError);
    EXPECT_THROW(parse_rates(words_of("   ")), ParseError);
    EXPECT_THROW(parse_rates(words_of("1r/s 2r/m 3r/h 4r/d 5r/2d")), ParseError);
}

TEST(ParseRates, RefusesTwoRatesOfOnePeriod) {
    EXPECT_THROW(parse_rates(words_of("60r/m 90r/60s")), ParseError);
}

TEST(ParseRates, RefusesALongerPeriodThatAllowsLess) {
    EXPECT_THROW(parse_rates(words_of("100r/m 99r/d")), ParseError);
    EXPECT_EQ(parse_rates(words_of("100r/m 100r/d")).size(), 2U);
}

TEST(ParseRates, ComparesAMonthByItsMeanLength) {
    EXPECT_EQ(parse_rates(words_of("1000r/month 60r/m 100r/d")).back().period, Period::month());
    EXPECT_EQ(parse_rates(words_of("1000r/month 1000r/31d")).front().period, Period::month());
    EXPECT_THROW(parse_rates(words_of("100r/d 99r/month")), ParseError);
    EXPECT_THROW(parse_rates(words_of("1000r/30d 999r/month")), ParseError);
    EXPECT_THROW(parse_rates(words_of("1000r/month 999r/31d")), ParseError);
    EXPECT_THROW(parse_rates(words_of("1r/month 2r/month")), ParseError);
}

TEST(RequireSliding, RefusesAMonth) {
    EXPECT_NO_THROW(require_sliding(parse_rates(words_of("60r/m 1000r/30d"))));
    EXPECT_THROW(require_sliding(parse_rates(words_of("60r/m 1000r/month"))), ParseError);
}

TEST(ParseRates, ReadsTheBurstOfTheRateBeforeIt) {
    const auto rates = parse_rates(words_of("1000r/d 10r/s burst=20 100r/m"));
    ASSERT_EQ(rates.size(), 3U);
    EXPECT_EQ(rates[0], (Rate{10, 1s, 20}));
    EXPECT_EQ(rates[1], (Rate{100, 60s}));
    EXPECT_EQ(parse_rates(words_of("1r/s burst=1 2r/m burst=2 3r/h burst=3 4r/d burst=4")).size(),
              4U);
    EXPECT_EQ(parse_rates(words_of("1r/s burst=4500000000"))[0].burst, most_burst(1s));
    EXPECT_EQ(parse_rates(words_of("1r/366d burst=142"))[0].burst, most_burst(366 * 24h));
}

TEST(ParseRates, RefusesABurst) {
    for (const char* text :
         {"burst=20", "burst=20 10r/s", "10r/s burst=0", "10r/s burst=", "10r/s burst=-1",
          "10r/s burst=1.5", "10r/s burst=x", "10r/s burst=20 burst=20", "10r/s burst=4500000001",
          "1r/366d burst=143", "10r/s burst=99999999999999999999", "100r/month burst=10",
          "10r/s burst=20 5r/s", "10r/s burst=20 5r/m", "1r/s 2r/m 3r/h 4r/d 5r/2d burst=5"}) {
        EXPECT_THROW(parse_rates(words_of(text)), ParseError) << text;
    }
}

TEST(ParseRates, SeparatesWordsBySpacesOnly) {
    EXPECT_THROW(parse_rates(words_of("1r/s\t2r/m")), ParseError);
}

TEST(FormatRate, UsesTheLargestUnitThatDivides) {
    EXPECT_EQ(format_rate({60, 60s}), "60r/m");
    EXPECT_EQ(format_rate({100, 900s}), "100r/15m");
    EXPECT_EQ(format_rate({1, 90s}), "1r/90s");
    EXPECT_EQ(format_rate({1, 36h}), "1r/36h");
    EXPECT_EQ(format_rate({1, 48h}), "1r/2d");
}

TEST(FormatRate, IsReadBack) {
    for (const Rate rate :
         {Rate{1, 1s}, Rate{60, 61s}, Rate{5, 7200s}, Rate{1'000'000'000'000, 31'622'400s}}) {
        EXPECT_EQ(parse_rate(format_rate(rate)), rate);
    }
    EXPECT_EQ(format_rate({10, 1s, 20}), "10r/s burst=20");
    EXPECT_EQ(parse_rates(words_of("10r/s burst=20")).front(), (Rate{10, 1s, 20}));
}

}  // namespace
}  // namespace tollgate
