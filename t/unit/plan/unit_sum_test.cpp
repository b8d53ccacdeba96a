#include "module/plan/unit_sum.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "module/plan/rate.hpp"

namespace tollgate {
namespace {

using Sum = std::optional<std::int64_t>;

Sum sum_of(std::initializer_list<std::pair<std::string_view, std::string_view>> terms) {
    UnitSum sum;
    for (const auto& [one, other] : terms) {
        sum.add(one, other);
    }
    return sum.value();
}

TEST(UnitSum, IsExactAndRoundedUpOnce) {
    EXPECT_EQ(sum_of({}), 0);
    EXPECT_EQ(sum_of({{"19", "1"}, {"23", "1"}}), 42);
    EXPECT_EQ(sum_of({{"7", "0.25"}}), 2);
    EXPECT_EQ(sum_of({{"8", "0.25"}}), 2);
    EXPECT_EQ(sum_of({{"1", "0.1"}, {"1", "0.2"}, {"1", "0.7"}}), 1) << "not as binary fractions";
    EXPECT_EQ(sum_of({{"0.000000001", "0.000000001"}}), 1);
    EXPECT_EQ(sum_of({{"0.5", "0.5"}, {"0.5", "0.5"}, {"0.5", "0.5"}, {"0.5", "0.5"}}), 1);
    EXPECT_EQ(sum_of({{"1.0000000001", "1"}}), 2) << "the tenth digit is rounded up";
    EXPECT_EQ(sum_of({{"1.0000000000", "1"}, {"007", "1.0"}}), 8);
}

TEST(UnitSum, IsAtMostTheLargestCost) {
    EXPECT_EQ(sum_of({{"1000000000000", "1"}}), kMostRequests);
    EXPECT_EQ(sum_of({{"1000000000000", "1"}, {"1", "1"}}), kMostRequests);
    EXPECT_EQ(sum_of({{"1000000000001", "0.5"}}), 500'000'000'001);
    const std::string large(60, '9');
    EXPECT_EQ(sum_of({{large, large}}), kMostRequests);
    EXPECT_EQ(sum_of({{large, large}, {large, large}, {"1", "1"}}), kMostRequests);
    EXPECT_EQ(sum_of({{large, "0"}}), 0);
    EXPECT_EQ(sum_of({{"1000000000000000000", "0.000001"}}), kMostRequests);
}

TEST(UnitSum, HasNoValueIfANumberIsMalformed) {
    for (const auto* text :
         {"", "-1", "+1", "1e3", ".5", "5.", "1.2.3", " 1", "1 ", "0x1", "a", "1,5", "$a"}) {
        EXPECT_EQ(sum_of({{"1", "1"}, {text, "1"}, {"1", "1"}}), std::nullopt) << text;
        EXPECT_EQ(sum_of({{"1", text}}), std::nullopt) << text;
        EXPECT_FALSE(is_decimal(text)) << text;
    }
}

}  // namespace
}  // namespace tollgate
