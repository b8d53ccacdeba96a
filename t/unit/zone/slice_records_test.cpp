#include "module/zone/slice_records.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

class SliceRecordsTest : public testing::Test {
  protected:
    static constexpr std::size_t kSize = 64;
    static TableQuota quota() {
        return {.table = "api",
                .rates = {{60, 60s}, {1000, 86400s}},
                .sliding = true,
                .lease_time = kLeaseTime,
                .policies = {},
                .table_id = 7,
                .history = std::chrono::days(90)};
    }
    static QuotaCache::Key key() { return {{"abc"}, id_hash("abc"), 9, quota(), 5}; }
    static QuotaState state() {
        QuotaState state;
        state.windows[0].counted.number = 30'000'000;
        state.windows[1].counted.number = 20'000;
        return state;
    }
    std::vector<SliceRecord*> find(std::size_t count, std::uint64_t hash = 0) const {
        std::vector<SliceRecord*> found(count);
        return records_.find_free(hash, found) ? found : std::vector<SliceRecord*>{};
    }
    std::size_t used() const {
        std::size_t count = 0;
        records_.for_each([&](const SliceRecord&) { ++count; });
        return count;
    }

    alignas(kCacheLine) std::array<std::byte, kSize * sizeof(SliceRecord)> memory_{};
    SliceRecords records_{memory_};
};

TEST_F(SliceRecordsTest, ARecordIsUsedUntilItsUnitsAreSpent) {
    EXPECT_EQ(records_.size(), kSize);
    EXPECT_EQ(used(), 0U);
    SliceRecord& record = *find(1).front();
    EXPECT_EQ(used(), 0U) << "until it is written";
    record.write(77, key(), quota(), state(), 5);
    EXPECT_EQ(used(), 1U);
    EXPECT_NE(find(1).front(), &record);
    EXPECT_EQ(record.process, 77U);
    EXPECT_TRUE(record.key.is(key()));
    EXPECT_EQ(record.key.api_key, 5U);
    EXPECT_EQ(record.key.key().hash(), key().hash());
    EXPECT_EQ(record.quota().sliding, true);
    EXPECT_EQ(record.quota().history, std::chrono::days(90));
    EXPECT_EQ(record.windows[0], 30'000'000);
    EXPECT_EQ(record.windows[1], 20'000);
    EXPECT_EQ(record.left(), 5);
    EXPECT_EQ(record.take(), 5);
    EXPECT_EQ(record.take(), 0);
    EXPECT_EQ(used(), 0U);
    EXPECT_EQ(find(1).front(), &record);
}

TEST_F(SliceRecordsTest, SeveralAreFoundOrNone) {
    EXPECT_EQ(find(32).size(), 32U);
    EXPECT_TRUE(find(33).empty()) << "a bounded number is searched";
    for (SliceRecord* record : find(30)) {
        record->write(77, key(), quota(), state(), 1);
    }
    EXPECT_EQ(find(2).size(), 2U);
    EXPECT_TRUE(find(3).empty());
    EXPECT_EQ(find(32, 30).size(), 32U) << "from another record on";
}

TEST(SliceRecords, NeedMemory) {
    alignas(kCacheLine) std::array<std::byte, sizeof(SliceRecord) - 1> memory{};
    EXPECT_THROW(SliceRecords{memory}, std::length_error);
}

}  // namespace
}  // namespace tollgate
