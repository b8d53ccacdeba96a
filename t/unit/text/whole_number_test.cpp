#include "module/text/whole_number.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tollgate {
namespace {

TEST(WholeNumber, IsAllOfTheText) {
    EXPECT_EQ(parse_whole_number("42", 0, 100), 42);
    for (const auto* text : {"", " 42", "42 ", "+42", "4.2", "4e2", "0x4", "x"}) {
        EXPECT_FALSE(parse_whole_number(text, 0, 100)) << text;
    }
}

TEST(WholeNumber, KeepsItsBounds) {
    EXPECT_EQ(parse_whole_number("0", 0, 100), 0);
    EXPECT_EQ(parse_whole_number("100", 0, 100), 100);
    EXPECT_FALSE(parse_whole_number("101", 0, 100));
    EXPECT_FALSE(parse_whole_number("-1", 0, 100));
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(parse_whole_number("9223372036854775807", 0, kMost), kMost);
    EXPECT_FALSE(parse_whole_number("9223372036854775808", 0, kMost));
}

}  // namespace
}  // namespace tollgate
