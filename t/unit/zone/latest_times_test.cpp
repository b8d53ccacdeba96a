#include "module/zone/latest_times.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <stdexcept>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

/// A hash of the first set. `number` is its tag.
std::uint64_t hash_of(std::uint64_t number) {
    return number << 42U;
}

class LatestTimesTest : public testing::Test {
  protected:
    std::array<LatestTimes::Set, 3> sets_{};  // zeroed: no times
    LatestTimes times_{sets_};
};

TEST_F(LatestTimesTest, RemembersTheLatestTimeOfEachHash) {
    EXPECT_EQ(times_.last(hash_of(1)), 0ms);
    times_.raise(hash_of(1), 5s);
    times_.raise(hash_of(2), 3s);
    times_.raise(hash_of(1), 4s);
    EXPECT_EQ(times_.last(hash_of(1)), 5s);
    EXPECT_EQ(times_.exact(hash_of(1)), 5s);
    EXPECT_EQ(times_.last(hash_of(2)), 3s);
    EXPECT_EQ(times_.last(hash_of(3)), 0ms);
    EXPECT_EQ(times_.last(hash_of(1) + 1), 0ms) << "of another set";
    times_.raise(hash_of(0), 6s);
    EXPECT_EQ(times_.last(hash_of(0)), 6s) << "an unused place looks as if it were its own";
    EXPECT_EQ(times_.last(hash_of(1)), 5s);
    times_.raise(hash_of(4), -5s);
    EXPECT_EQ(times_.last(hash_of(4)), 0ms);
}

TEST_F(LatestTimesTest, TheEarliestTimeOfAFullSetCountsForAllOthers) {
    for (unsigned i = 1; i <= 7; ++i) {
        times_.raise(hash_of(i), std::chrono::seconds(10 + i));
    }
    EXPECT_EQ(times_.last(hash_of(8)), 0ms);
    times_.raise(hash_of(8), 20s);
    EXPECT_EQ(times_.last(hash_of(8)), 20s);
    EXPECT_EQ(times_.last(hash_of(1)), 11s) << "never forgotten";
    EXPECT_EQ(times_.exact(hash_of(1)), 0ms);
    EXPECT_EQ(times_.last(hash_of(9)), 11s);
    EXPECT_EQ(times_.last(hash_of(2)), 12s);
    EXPECT_EQ(times_.last(hash_of(9) + 1), 0ms) << "of another set";
    times_.raise(hash_of(9), 11500ms);
    EXPECT_EQ(times_.last(hash_of(9)), 11500ms) << "it is the earliest itself";
    EXPECT_EQ(times_.exact(hash_of(2)), 12s);
}

TEST_F(LatestTimesTest, IsNeverTooEarly) {
    std::mt19937_64 random(1);
    std::array<SteadyTime, 40> latest{};
    for (int i = 0; i < 20000; ++i) {
        const std::size_t n = random() % latest.size();
        const SteadyTime time(random() % 1000 + static_cast<unsigned>(i));
        times_.raise(hash_of(n / 2) + n % 2, time);
        latest.at(n) = std::max(latest.at(n), time);
        const std::size_t other = random() % latest.size();
        ASSERT_GE(times_.last(hash_of(other / 2) + other % 2), latest.at(other)) << i;
    }
}

TEST_F(LatestTimesTest, UsesAPowerOfTwo) {
    EXPECT_EQ(times_.places(), 14U);
    EXPECT_THROW(LatestTimes({}), std::length_error);
}

}  // namespace
}  // namespace tollgate
