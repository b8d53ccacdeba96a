#include "module/report/counter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <thread>

namespace tollgate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Counter, LosesNothingThatSeveralThreadsCount) {
    Counter counter;
    std::array<std::thread, 4> threads;
    for (auto& thread : threads) {
        thread = std::thread([&] {
            for (int i = 0; i < 10'000; ++i) {
                counter.add();
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(counter.value(), 40'000U);
}

TEST(Counter, IsCopiedWithItsValue) {
    Counter counter;
    counter.add(5);
    const Counter copy = counter;
    counter.add();
    EXPECT_EQ(copy.value(), 5U);
    counter = copy;
    EXPECT_EQ(counter.value(), 5U);
}

TEST(Gauge, GrowsAndShrinks) {
    Gauge gauge;
    gauge.set(3);
    gauge.add(-5);
    EXPECT_EQ(gauge.value(), -2);
    gauge.replace(0, 9);
    EXPECT_EQ(gauge.value(), -2);
    gauge.replace(-2, 9);
    EXPECT_EQ(gauge.value(), 9);
}

TEST(Histogram, HasBoundsThatGrow) {
    for (std::size_t i = 1; i < Histogram::kBounds.size(); ++i) {
        EXPECT_LT(Histogram::kBounds[i - 1], Histogram::kBounds[i]);
    }
}

TEST(Histogram, CountsABoundInItsOwnClass) {
    Histogram histogram;
    histogram.note(microseconds(0));
    histogram.note(microseconds(50));
    histogram.note(microseconds(51));
    histogram.note(seconds(1));
    histogram.note(seconds(1) + microseconds(1));
    EXPECT_EQ(histogram.classes[0].value(), 2U);
    EXPECT_EQ(histogram.classes[1].value(), 1U);
    EXPECT_EQ(histogram.classes[13].value(), 1U);
    EXPECT_EQ(histogram.classes[14].value(), 1U);
    EXPECT_EQ(histogram.microseconds.value(), 2'000'102U);
}

TEST(Histogram, TreatsANegativeDurationAsZero) {
    Histogram histogram;
    histogram.note(milliseconds(-3));
    EXPECT_EQ(histogram.classes[0].value(), 1U);
    EXPECT_EQ(histogram.microseconds.value(), 0U);
}

TEST(WorkerSet, CountsWorkersThatAreConfigured) {
    WorkerSet set;
    set.start(0, 100);
    set.start(3, 103);
    set.insert(0, 100);
    set.insert(0, 100);
    set.insert(3, 103);
    EXPECT_EQ(set.count(4), 2U);
    EXPECT_EQ(set.count(3), 1U);
    set.erase(0, 100);
    EXPECT_EQ(set.count(4), 1U);
}

TEST(WorkerSet, IsNotChangedByAPredecessor) {
    WorkerSet set;
    set.start(0, 100);
    set.insert(0, 100);
    set.start(0, 200);
    EXPECT_EQ(set.count(1), 0U) << "killed";
    set.insert(0, 200);
    set.erase(0, 100);
    EXPECT_EQ(set.count(1), 1U) << "reloaded";
    set.insert(0, 100);
    set.erase(0, 100);
    EXPECT_TRUE(set.contains(200)) << "the predecessor is in the state until it exits";
    set.erase(0, 200);
    set.insert(0, 100);
    EXPECT_EQ(set.count(1), 0U);
}

TEST(WorkerSet, LeavesOutWorkersBeyondItsSize) {
    WorkerSet set;
    set.start(WorkerSet::kMost, 1);
    set.insert(WorkerSet::kMost, 1);
    set.erase(WorkerSet::kMost, 1);
    EXPECT_EQ(set.count(WorkerSet::kMost + 9), 0U);
}

// Shared memory is zeroed at first, and no constructor runs in it.
TEST(SharedNumber, IsZeroInZeroedMemory) {
    const Histogram histogram;
    for (const std::byte byte : std::as_bytes(std::span(&histogram, 1))) {
        EXPECT_EQ(byte, std::byte{0});
    }
}

}  // namespace
}  // namespace tollgate
