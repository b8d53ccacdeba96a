#include "module/zone/hour_samples.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

HourSample sample(std::uint32_t value) {
    HourSample values{};
    values.fill(value);
    return values;
}

/// The first value of each sample; 0: there is none.
std::vector<std::uint32_t> values(const Hour& hour) {
    std::vector<std::uint32_t> found;
    found.reserve(hour.samples.size());
    for (const auto& one : hour.samples) {
        found.push_back(one ? one->front() : 0);
    }
    return found;
}

/// Memory of zeros.
HourSamples empty_samples() {
    return HourSamples();
}

TEST(HourSamples, AreTakenOnceAMinute) {
    auto samples = empty_samples();
    EXPECT_TRUE(samples.is_due(minutes(500)));
    samples.record(minutes(500), sample(1));
    EXPECT_FALSE(samples.is_due(minutes(500) + seconds(59)));
    samples.record(minutes(500) + seconds(1), sample(2));  // by a second worker
    EXPECT_TRUE(samples.is_due(minutes(501)));
    EXPECT_FALSE(samples.is_due(minutes(501) + seconds(5))) << "it is late";
    EXPECT_EQ(values(samples.hour(minutes(500))).back(), 1U);
    EXPECT_EQ(HourSamples::until_next(minutes(500)), minutes(1));
    EXPECT_EQ(HourSamples::until_next(minutes(500) + seconds(59)), seconds(1));
}

TEST(HourSamples, AreThoseOfTheLastHour) {
    auto samples = empty_samples();
    for (std::uint32_t i = 1; i <= 100; ++i) {
        samples.record(minutes(i), sample(i));
    }
    const Hour hour = samples.hour(minutes(100) + seconds(30));
    EXPECT_EQ(hour.age, seconds(30));
    ASSERT_EQ(hour.samples.size(), HourSamples::kSamples);
    EXPECT_EQ(values(hour).front(), 40U);
    EXPECT_EQ(values(hour).back(), 100U);
}

TEST(HourSamples, AreMissingWhereNoWorkerTookThem) {
    auto samples = empty_samples();
    samples.record(minutes(10), sample(1));
    samples.record(minutes(12), sample(3));
    const auto found = values(samples.hour(minutes(13)));
    EXPECT_EQ(std::vector(found.end() - 5, found.end()),
              (std::vector<std::uint32_t>{0, 1, 0, 3, 0}));
    EXPECT_EQ(values(samples.hour(minutes(80))), std::vector<std::uint32_t>(61))
        << "they are older";
    EXPECT_EQ(samples.hour(minutes(0)).samples.size(), 1U) << "the node has just booted";
}

}  // namespace
}  // namespace tollgate
