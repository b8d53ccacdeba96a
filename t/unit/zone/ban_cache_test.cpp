#include "module/zone/ban_cache.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>

namespace tollgate {

namespace {

using namespace std::chrono_literals;

class BanCacheTest : public testing::Test {
  protected:
    static BanCache::Key key(unsigned char id, std::uint32_t redis = 1) {
        return {.id = {id}, .redis = redis};
    }

    alignas(64) std::array<std::byte, BanCache::Table::memory_for(2)> memory_{};
    BanCache cache_{memory_};
    const Ban ban_{.until = Instant(1'900'000'000'456ms),
                   .strikes = 4,
                   .struck_since = 987'654'321'987ms,
                   .told = Instant(1'800'000'000'123ms)};
};

TEST_F(BanCacheTest, LoadsWhatWasSaved) {
    EXPECT_EQ(cache_.load(key(1)), Ban{});
    cache_.save(key(1), ban_, 1s);
    EXPECT_EQ(cache_.load(key(1)), ban_);
    EXPECT_EQ(cache_.load(key(2)), Ban{});
    EXPECT_EQ(cache_.load(key(1, 2)), Ban{}) << "in another Redis";
}

TEST_F(BanCacheTest, RemovesAnEmptyBan) {
    cache_.save(key(1), ban_, 1s);
    cache_.save(key(1), Ban{}, 2s);
    EXPECT_EQ(cache_.load(key(1)), Ban{});
    cache_.save(key(2), Ban{}, 2s);
    EXPECT_EQ(cache_.load(key(2)), Ban{});
}

TEST_F(BanCacheTest, EvictsTheBanThatWasChangedFirst) {
    for (unsigned char id = 0; id < 17; ++id) {
        cache_.save(key(id), ban_, std::chrono::seconds(id));
    }
    EXPECT_EQ(cache_.load(key(0)), Ban{});
    EXPECT_EQ(cache_.load(key(16)), ban_);
}

TEST_F(BanCacheTest, ClampsStrikes) {
    cache_.save(key(1), {.strikes = 100'000}, 1s);
    EXPECT_EQ(cache_.load(key(1)).strikes, 65'535);
}

}  // namespace

}  // namespace tollgate
