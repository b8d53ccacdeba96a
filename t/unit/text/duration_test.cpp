#include "module/text/duration.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

TEST(ParseDuration, ReadsEveryUnit) {
    EXPECT_EQ(parse_duration("250ms"), 250ms);
    EXPECT_EQ(parse_duration("5s"), 5s);
    EXPECT_EQ(parse_duration("10m"), 10min);
    EXPECT_EQ(parse_duration("24h"), 24h);
    EXPECT_EQ(parse_duration("90d"), 90 * 24h);
    EXPECT_EQ(parse_duration("2w"), 14 * 24h);
}

TEST(ParseDuration, CountsSecondsWithoutAUnit) {
    EXPECT_EQ(parse_duration("5"), 5s);
}

TEST(ParseDuration, TakesZero) {
    EXPECT_EQ(parse_duration("0"), 0s);
}

TEST(ParseDuration, EndsAfterAHundredYears) {
    EXPECT_EQ(parse_duration("36524d"), 36524 * 24h);
    EXPECT_THROW(parse_duration("36525d"), ParseError);
    EXPECT_THROW(parse_duration("18446744073709551615w"), ParseError);
    EXPECT_THROW(parse_duration("18446744073709551616"), ParseError);
}

TEST(WriteDuration, UsesTheLargestUnitWithoutARest) {
    EXPECT_EQ(write_duration(0s), "0s");
    EXPECT_EQ(write_duration(59s), "59s");
    EXPECT_EQ(write_duration(90min), "90m");
    EXPECT_EQ(write_duration(24h), "1d");
    EXPECT_EQ(write_duration(168h), "1w");
    for (const auto duration : {0s, 1s, 61s, 3600s, 90'061s, 604'800s}) {
        EXPECT_EQ(parse_duration(write_duration(duration)), duration);
    }
}

class MalformedDuration : public testing::TestWithParam<const char*> {};

TEST_P(MalformedDuration, IsRefusedWithItsText) {
    try {
        parse_duration(GetParam());
        FAIL() << "no error";
    } catch (const ParseError& error) {
        EXPECT_NE(std::string(error.what()).find(GetParam()), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(Texts, MalformedDuration,
                         testing::Values("", "s", "-1s", "+1s", "1.5s", "1 s", " 1s", "1s ", "1y",
                                         "1M", "1h30m", "0x1s"));

}  // namespace
}  // namespace tollgate
