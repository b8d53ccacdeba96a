// Two and three operations at the same time, in every order of their transactions within a bound,
// and each killed after each of its changes: what every order must lead to.

#include "t/unit/management/order_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "t/unit/management/order_judge.hpp"
#include "t/unit/management/ordered_operations.hpp"

namespace tollgate::management::orders {
namespace {

/// How many states are visited at most. More take too long: of a pair, these are all orders, or
/// those with one or two switches at least; of three operations, those with the fewest switches.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kMostOfPair = 300;
constexpr std::size_t kMostOfTriple = 100;
#else
constexpr std::size_t kMostOfPair = 6'000;
constexpr std::size_t kMostOfTriple = 2'000;
#endif

OrderSearch::Result search(Start start, const std::vector<Kind>& kinds, bool is_cluster,
                           std::size_t most_states) {
    std::vector<Operation> operations;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        operations.push_back(operation_of(kinds[i], i));
    }
    OrderSearch orders(data_of(start), is_cluster, operations);
    const Judge judge(orders, start, kinds, is_cluster);
    return orders.run([&](const World& world) { judge.step(world); },
                      [&](const World& world) { judge.end(world); }, most_states);
}

/// All values of an enumeration, which has this number of them.
template <typename Value, std::size_t kCount>
constexpr std::array<Value, kCount> all_of() {
    std::array<Value, kCount> all{};
    for (std::size_t i = 0; i < kCount; ++i) {
        all.at(i) = static_cast<Value>(i);
    }
    return all;
}
constexpr auto kStarts = all_of<Start, kStartNames.size()>();
constexpr auto kKinds = all_of<Kind, kNames.size()>();

/// Those that make and end keys, or enable them.
constexpr std::array kOfTriples{Kind::kIssue,   Kind::kRotate, Kind::kReplace,
                                Kind::kDisable, Kind::kEnable, Kind::kRevoke};

/// An operation, and whether each key of Redis has a slot of its own.
class OrderSearchTest : public testing::TestWithParam<std::tuple<Start, Kind, bool>> {};

TEST_P(OrderSearchTest, TwoOperationsDoWhatTheyAcknowledge) {
    const auto [start, first, is_cluster] = GetParam();
    for (auto second = std::ranges::find(kKinds, first); second != kKinds.end() && !HasFailure();
         ++second) {
        SCOPED_TRACE(name_of(*second));
        const auto result = search(start, {first, *second}, is_cluster, kMostOfPair);
        EXPECT_TRUE(result.is_complete || result.states == kMostOfPair);
    }
}

std::string text_of(const testing::TestParamInfo<OrderSearchTest::ParamType>& info) {
    const auto [start, first, is_cluster] = info.param;
    return std::string(kStartNames.at(static_cast<std::size_t>(start))) + "_" + name_of(first) +
           (is_cluster ? "_cluster" : "");
}

INSTANTIATE_TEST_SUITE_P(Pairs, OrderSearchTest,
                         testing::Combine(testing::ValuesIn(kStarts), testing::ValuesIn(kKinds),
                                          testing::Bool()),
                         text_of);

class TripleSearchTest : public OrderSearchTest {};

TEST_P(TripleSearchTest, ThreeOperationsDoWhatTheyAcknowledge) {
    const auto [start, first, is_cluster] = GetParam();
    for (const Kind second : kOfTriples) {
        for (const Kind third : kOfTriples) {
            if (first <= second && second <= third && !HasFailure()) {
                SCOPED_TRACE(name_of(second) + " " + name_of(third));
                const auto result =
                    search(start, {first, second, third}, is_cluster, kMostOfTriple);
                EXPECT_TRUE(result.is_complete || result.states == kMostOfTriple);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Triples, TripleSearchTest,
                         testing::Combine(testing::Values(Start::kOneKey, Start::kOverlap),
                                          testing::ValuesIn(kOfTriples), testing::Bool()),
                         text_of);

}  // namespace
}  // namespace tollgate::management::orders
