#include "module/report/hour.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "module/report/status.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate {
namespace {

using nlohmann::json;

json written(const Hour& hour) {
    JsonWriter writer;
    write_hour(writer, hour);
    return json::parse(std::move(writer).take());
}

/// A status with these numbers of granted requests and of limited addresses, and with an
/// unreachable Redis.
Status status_with(int granted, int limited_addresses) {
    Status status;
    status.workers = 1;
    status.requests = {{"api", "free", {}}, {"api", "", {}}};
    status.requests[0].counts.decided.counts[static_cast<std::size_t>(Verdict::kGranted)].add(
        static_cast<std::uint64_t>(granted));
    status.requests[0].counts.note(Verdict::kLimited, false);
    status.requests[0].counts.note(Verdict::kGranted, true);
    status.requests[1].counts.decided.counts[static_cast<std::size_t>(Verdict::kLimited)].add(
        static_cast<std::uint64_t>(limited_addresses));
    status.redis = {{"main", {}}, {"removed", {}}};
    for (auto& redis : status.redis) {
        redis.workers.breaker_open.start(0, 77);
        redis.workers.breaker_open.insert(0, 77);
    }
    status.redis[0].is_configured = true;
    return status;
}

TEST(Hour, ShowsWhatHappenedInEachMinuteAndWhatWasTrueAtItsEnd) {
    const auto hour =
        written({.age = std::chrono::seconds(12),
                 .samples = {sample_of(status_with(5, 0)), sample_of(status_with(25, 4)),
                             sample_of(status_with(26, 4))}});
    EXPECT_EQ(hour["age"], 12);
    EXPECT_EQ(hour["series"].size(), kHourSeries);
    EXPECT_EQ(hour["series"]["granted"], json({20, 1}));
    EXPECT_EQ(hour["series"]["limited"], json({4, 0}));
    EXPECT_EQ(hour["series"]["limited_addresses"], json({4, 0}));
    EXPECT_EQ(hour["series"]["unreachable"], json({1, 1})) << "not the removed one";
    EXPECT_EQ(hour["series"]["abandoned"], json({0, 0}));
}

TEST(Hour, CountsEvictionsOfTablesThatDoNotFillInNormalUse) {
    Status status;
    const HourSample before = sample_of(status);
    status.stores[static_cast<std::size_t>(Store::kLongKeys)].evictions = 3;
    status.stores[static_cast<std::size_t>(Store::kQuotas)].evictions = 4;
    status.stores[static_cast<std::size_t>(Store::kAddresses)].evictions = 100;
    EXPECT_EQ(written({.samples = {before, sample_of(status)}})["series"]["evictions"], json({7}));
}

TEST(Hour, DoesNotGuessWhatNobodyRecorded) {
    const auto sample = [](int granted) { return sample_of(status_with(granted, 0)); };
    const auto hour = written({.samples = {std::nullopt, std::nullopt, sample(1), sample(3),
                                           std::nullopt, sample(9), sample(10)}});
    EXPECT_EQ(hour["series"]["granted"], json({2, nullptr, nullptr, 1}));
    EXPECT_EQ(hour["series"]["unreachable"], json({1, nullptr, 1, 1}));
    EXPECT_EQ(written({})["series"]["granted"], json::array());
    EXPECT_EQ(written({.samples = {sample(7)}})["series"]["granted"], json::array());
}

TEST(Hour, CountsAcrossTheEndOfItsNumbers) {
    HourSample before{};
    before.fill(0xffff'fffe);
    HourSample after{};
    after.fill(3);
    EXPECT_EQ(written({.samples = {before, after}})["series"]["granted"], json({5}));
}

}  // namespace
}  // namespace tollgate
