#include "backend/core/integer.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace petstore {
namespace {

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr auto kMin = std::numeric_limits<std::int64_t>::min();

TEST(ParseInt64, AcceptsAllOfInt64) {
    EXPECT_EQ(parse_int64("9223372036854775807"), kMax);
    EXPECT_EQ(parse_int64("-9223372036854775808"), kMin);
    EXPECT_EQ(parse_int64("-0"), 0);
}

TEST(ParseInt64, RejectsOtherText) {
    for (const char* text :
         {"", "-", "+1", " 1", "1 ", "1.0", "0x10", "9223372036854775808", "1e3"}) {
        EXPECT_EQ(parse_int64(text), std::nullopt) << text;
    }
}

TEST(ParseJsonInteger, ComparesValues) {
    EXPECT_EQ(parse_json_integer("1.0"), 1);
    EXPECT_EQ(parse_json_integer("10e-1"), 1);
    EXPECT_EQ(parse_json_integer("0.10e1"), 1);
    EXPECT_EQ(parse_json_integer("-1.5E+1"), -15);
    EXPECT_EQ(parse_json_integer("1e18"), 1'000'000'000'000'000'000);
    EXPECT_EQ(parse_json_integer("-0.0"), 0);
    EXPECT_EQ(parse_json_integer("0e99999999999999999999"), 0);
    EXPECT_EQ(parse_json_integer("0.000e-5"), 0);
    EXPECT_EQ(parse_json_integer("0." + std::string(400, '0') + "7e401"), 7);
}

TEST(ParseJsonInteger, IsExactAtTheLimits) {
    EXPECT_EQ(parse_json_integer("9223372036854775807.0"), kMax);
    EXPECT_EQ(parse_json_integer("9223372036854775.807e3"), kMax);
    EXPECT_EQ(parse_json_integer("-9223372036854775808.000"), kMin);
    EXPECT_EQ(parse_json_integer("9007199254740993.0"), 9007199254740993);
    EXPECT_EQ(parse_json_integer("9223372036854775808.0"), std::nullopt);
    EXPECT_EQ(parse_json_integer("-9223372036854775809"), std::nullopt);
    EXPECT_EQ(parse_json_integer("1e19"), std::nullopt);
}

TEST(ParseJsonInteger, RejectsFractions) {
    for (const char* text : {"1.5", "1e-1", "0.1", "-0.5", "123456789.000001",
                             "1e-99999999999999999999", "1e99999999999999999999"}) {
        EXPECT_EQ(parse_json_integer(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace petstore
