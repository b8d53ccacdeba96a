#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include "module/redis/protocol/script.hpp"
#include "t/unit/engine/call_orders.hpp"

namespace tollgate::engine {

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

/// The units that a node may lose with the reply to this call: those of its requests, and those
/// that it returned. None if it is no acquire.
inline std::int64_t units_lost_with(const redis::Call& call) {
    std::int64_t units = 0;
    if (call.script == &redis::acquire_script()) {
        for (const auto& one : SimulatedRedis::asked_in(call)) {
            units += one.acquire.count * one.acquire.demand.cost.steps();
            for (const auto& adjustment : one.acquire.adjustments) {
                units -= std::min<std::int64_t>(adjustment.units, 0);
            }
        }
    }
    return units;
}

/// Says what a node that was not killed still holds; nothing: an empty text.
inline std::string held_at_end(const CallOrders& orders, const CallOrders::World& world) {
    for (std::size_t i = 0; i < world.nodes.size(); ++i) {
        const NodeView& seen = orders.view(world, i);
        if (!world.nodes[i].is_killed && seen.holds) {
            return "a node still holds " + std::to_string(seen.leased) + " leased units, owes " +
                   std::to_string(seen.owed);
        }
    }
    return {};
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

}  // namespace tollgate::engine
