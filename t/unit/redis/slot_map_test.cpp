#include "module/redis/topology/slot_map.hpp"

#include <gtest/gtest.h>

namespace tollgate::redis {
namespace {

using Index = std::optional<std::size_t>;

ServerAddress master(int number) {
    return {"10.0.0." + std::to_string(number), 7000};
}

std::vector<ServerAddress> copied(std::span<const ServerAddress> masters) {
    return {masters.begin(), masters.end()};
}

TEST(SlotMap, IsEmptyAtFirst) {
    const SlotMap map;
    EXPECT_EQ(map.master_of(0), std::nullopt);
    EXPECT_EQ(map.master_of(16383), std::nullopt);
    EXPECT_TRUE(map.masters().empty());
    EXPECT_FALSE(map.is_complete());
}

TEST(SlotMap, AssignsRanges) {
    SlotMap map;
    EXPECT_EQ(map.assign(0, 99, master(1)), Index(0));
    EXPECT_EQ(map.assign(100, 16382, master(2)), Index(1));
    EXPECT_EQ(map.master_of(0), Index(0));
    EXPECT_EQ(map.master_of(99), Index(0));
    EXPECT_EQ(map.master_of(100), Index(1));
    EXPECT_EQ(map.master_of(16382), Index(1));
    EXPECT_EQ(map.master_of(16383), std::nullopt);
    EXPECT_FALSE(map.is_complete());
    EXPECT_EQ(map.assign(16383, master(1)), Index(0));
    EXPECT_TRUE(map.is_complete());
    EXPECT_EQ(copied(map.masters()), (std::vector{master(1), master(2)}));
}

TEST(SlotMap, CorrectsASlotAndKeepsIndexes) {
    SlotMap map;
    map.assign(0, 16383, master(1));
    EXPECT_EQ(map.assign(5, master(2)), Index(1));
    EXPECT_EQ(map.master_of(4), Index(0));
    EXPECT_EQ(map.master_of(5), Index(1));
    EXPECT_EQ(map.master_of(6), Index(0));
    EXPECT_TRUE(map.is_complete());
    EXPECT_EQ(map.assign(0, 16383, master(2)), Index(1));
    EXPECT_EQ(copied(map.masters()), (std::vector{master(1), master(2)}));
}

TEST(SlotMap, HasNoSlotBeyondTheLast) {
    SlotMap map;
    EXPECT_EQ(map.assign(16384, master(1)), std::nullopt);
    EXPECT_EQ(map.assign(65535, master(1)), std::nullopt);
    EXPECT_EQ(map.assign(0, 16384, master(1)), std::nullopt);
    EXPECT_EQ(map.assign(2, 1, master(1)), std::nullopt);
    EXPECT_TRUE(map.masters().empty());
    EXPECT_EQ(map.master_of(16384), std::nullopt);
    EXPECT_EQ(map.master_of(65535), std::nullopt);
}

TEST(SlotMap, TakesAThousandMasters) {
    SlotMap map;
    for (std::uint16_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(map.assign(i, {"host", static_cast<std::uint16_t>(i + 1)}), Index(i));
    }
    EXPECT_EQ(map.assign(5, {"host", 1001}), std::nullopt);
    EXPECT_EQ(map.master_of(5), Index(5));
    EXPECT_EQ(map.masters().size(), 1000);
    EXPECT_EQ(map.assign(5, {"host", 1}), Index(0)) << "a known master is still accepted";
}

}  // namespace
}  // namespace tollgate::redis
