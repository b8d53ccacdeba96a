#include "module/redis/topology/shared_master.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;
using Change = SharedMaster::Change;
using Time = SharedMaster::Time;

constexpr Time kNow{1000s};
constexpr std::uint32_t kGroup = 7;
const ServerAddress kOldMaster{"10.0.0.1", 6379};
const ServerAddress kNewMaster{"10.0.0.2", 6379};

/// As in the zone: memory of zeros.
class SharedMasterTest : public ::testing::Test {
  protected:
    SharedMaster master_ = [] {
        std::array<std::byte, sizeof(SharedMaster)> zeros{};
        SharedMaster master;
        std::memcpy(static_cast<void*>(&master), zeros.data(), zeros.size());
        return master;
    }();
};

TEST_F(SharedMasterTest, KnowsNoAddressAtFirst) {
    EXPECT_EQ(master_.address(kGroup), std::nullopt);
    EXPECT_EQ(master_.address(0), std::nullopt);
}

TEST_F(SharedMasterTest, ReturnsThePublishedAddress) {
    EXPECT_EQ(master_.publish(1, kGroup, kOldMaster), Change::kFirst);
    EXPECT_EQ(master_.address(kGroup), kOldMaster);
    const auto generation = master_.generation();
    EXPECT_EQ(master_.publish(1, kGroup, kOldMaster), Change::kNone);
    EXPECT_EQ(master_.generation(), generation);
    EXPECT_EQ(master_.publish(1, kGroup, kNewMaster), Change::kSwitched);
    EXPECT_EQ(master_.address(kGroup), kNewMaster);
    EXPECT_NE(master_.generation(), generation);
    EXPECT_EQ(master_.publish(1, kGroup, {kNewMaster.host, 6380}), Change::kSwitched);
    EXPECT_EQ(master_.searches(), 4U);
}

TEST_F(SharedMasterTest, StoresTheLongestHost) {
    const ServerAddress longest{std::string(255, 'a'), 65535};
    master_.publish(1, kGroup, longest);
    EXPECT_EQ(master_.address(kGroup), longest);
}

TEST_F(SharedMasterTest, ForgetsTheAddressOfAnotherGroup) {
    master_.publish(1, kGroup, kOldMaster);
    EXPECT_EQ(master_.address(kGroup + 1), std::nullopt);
    const auto generation = master_.generation();
    EXPECT_EQ(master_.publish(1, kGroup + 1, kOldMaster), Change::kFirst);
    EXPECT_EQ(master_.address(kGroup + 1), kOldMaster);
    EXPECT_NE(master_.generation(), generation);
}

TEST_F(SharedMasterTest, LetsOneProcessSearch) {
    EXPECT_TRUE(master_.claim(1, kNow, kNow + 1s));
    EXPECT_FALSE(master_.claim(2, kNow, kNow + 1s));
    EXPECT_TRUE(master_.claim(1, kNow, kNow + 2s)) << "it continues";
    EXPECT_FALSE(master_.claim(2, kNow + 1s, kNow + 3s));
    EXPECT_TRUE(master_.claim(2, kNow + 2s, kNow + 3s)) << "the first one is late";
    master_.release(1);
    EXPECT_FALSE(master_.claim(1, kNow + 2s, kNow + 3s)) << "only the searcher releases";
    master_.release(2);
    EXPECT_TRUE(master_.claim(1, kNow + 2s, kNow + 3s));
    master_.publish(1, kGroup, kOldMaster);
    EXPECT_TRUE(master_.claim(2, kNow + 2s, kNow + 3s)) << "a result ends the search";
}

TEST_F(SharedMasterTest, LetsAProcessTakeASearchOver) {
    EXPECT_TRUE(master_.claim(1, kNow, kNow + 1s));
    master_.take_over(2, kNow + 1s);
    EXPECT_FALSE(master_.claim(1, kNow, kNow + 1s));
}

TEST_F(SharedMasterTest, AvoidsADeposedServerForATime) {
    EXPECT_EQ(master_.deposed(kNow), 0U);
    master_.depose(7, kNow + 10s);
    EXPECT_EQ(master_.deposed(kNow + 9s), 7U);
    EXPECT_EQ(master_.deposed(kNow + 10s), 0U);
}

}  // namespace
}  // namespace tollgate::redis
