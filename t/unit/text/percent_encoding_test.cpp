#include "module/text/percent_encoding.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

TEST(PercentEncodingTest, IsDecodedAgain) {
    const std::string text = "a b&c=%/+\xc3\xa4";
    EXPECT_EQ(percent_encode(text), "a%20b%26c%3D%25%2F%2B%C3%A4");
    EXPECT_EQ(percent_decode(percent_encode(text)), text);
}

TEST(PercentEncodingTest, IsDecodedOnce) {
    EXPECT_EQ(percent_decode("%252f"), "%2f");
    EXPECT_EQ(percent_decode("+"), "+");
    EXPECT_EQ(percent_decode("%00"), std::string(1, '\0'));
}

TEST(PercentEncodingTest, NeedsTwoHexadecimalDigits) {
    for (const auto* const text : {"%", "%4", "a%zz", "%4g", "%-1", "%+1", "% 1", "%0x"}) {
        EXPECT_EQ(percent_decode(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace tollgate
