#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include "t/unit/gateway/call_orders.hpp"

namespace tollgate::gateway {

/// With sanitizers, a search takes ten times as long.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kIsSlow = true;
#else
constexpr bool kIsSlow = false;
#endif

constexpr CallOrders::Bound kAnyFault{
    .faults = 1, .kills = true, .stalls = true, .breaks = true, .leaves = true};
constexpr CallOrders::Bound with_passes(CallOrders::Bound bound, std::size_t passes) {
    bound.passes = passes;
    return bound;
}

/// Nothing is wrong in any order.
inline void expect_all_are_right(const CallOrders::Result& result) {
    EXPECT_TRUE(result.failure.empty()) << result.failure;
    std::ostringstream orders;
    orders << result.orders;
    testing::Test::RecordProperty("orders", orders.str());
    std::cout << orders.str() << " orders, " << result.states << " states\n";
}
/// The search has found a defect.
inline void expect_one_is_wrong(const CallOrders::Result& result) {
    EXPECT_FALSE(result.failure.empty());
}

}  // namespace tollgate::gateway
