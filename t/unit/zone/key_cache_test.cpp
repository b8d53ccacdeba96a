#include "module/zone/key_cache.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

class KeyCacheTest : public testing::Test {
  protected:
    static KeyCache::Key key(std::uint64_t n, std::uint32_t redis = 1) {
        KeyCache::Key key{redis, {}};
        std::mt19937_64 random(n);
        for (unsigned char& byte : key.digest) {
            byte = static_cast<unsigned char>(random());
        }
        return key;
    }

    /// The entry of the key, or nullopt.
    std::optional<KeyCache::Found> find(const KeyCache::Key& key, SteadyTime now = 1s) {
        KeyCache::Found found;
        return cache_.find(key, now, found) ? std::optional(found) : std::nullopt;
    }

    alignas(64) std::array<std::byte, KeyCache::SmallTable::memory_for(8)> small_{};
    alignas(64) std::array<std::byte, KeyCache::LargeTable::memory_for(2)> large_{};
    alignas(64) std::array<std::byte, KeyCache::UnknownTable::memory_for(2)> unknown_{};
    KeyCache cache_{small_, large_, unknown_};
    const KeyRecord record_{.id = "key_0123456789AB",
                            .name = "a shop",
                            .plan = "pro",
                            .limits = "",
                            .expires = std::chrono::sys_seconds(4'000'000'000s),
                            .active = true};
    const KeyRecord long_record_{.id = std::string(64, 'i'),
                                 .name = std::string(256, 'n'),
                                 .plan = std::string(64, 'p'),
                                 .limits = std::string(128, '9'),
                                 .scopes = std::string(256, 's'),
                                 .meta = std::string(512, 'm'),
                                 .expires = std::nullopt,
                                 .active = false,
                                 .retiring = true};
    /// The parts that the name, the scopes and the meta of long_record_ take.
    static constexpr std::uint64_t kPartsOfLong = (256 + 1 + 256 + 1 + 512 + 2 + 55) / 56;
};

TEST_F(KeyCacheTest, KnowsNothingAtFirst) {
    EXPECT_FALSE(find(key(1)));
    KeyCache::Found found{.exists = true, .record = record_};
    EXPECT_FALSE(cache_.find(key(1), 1s, found));
    EXPECT_EQ(found.record, record_) << "stays as it is";
}

TEST_F(KeyCacheTest, FindsARecordAsItWasPut) {
    cache_.put(key(1), record_, 12345ms);
    const auto found = find(key(1));
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->exists);
    EXPECT_EQ(found->record, record_);
    EXPECT_EQ(found->id, id_hash(record_.id));
    EXPECT_EQ(found->checked, 12345ms);
    EXPECT_FALSE(find(key(2)));
    EXPECT_FALSE(find(key(1, 2))) << "of another Redis";
}

TEST_F(KeyCacheTest, FindsALongRecordAsItWasPut) {
    cache_.put(key(1), long_record_, 1ms);
    const auto found = find(key(1));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->record, long_record_);
    EXPECT_EQ(found->id, id_hash(long_record_.id));
    EXPECT_EQ(cache_.large().used, 1);
    EXPECT_EQ(cache_.small().used, kPartsOfLong);
}

TEST_F(KeyCacheTest, FindsTheGroupOfARecord) {
    KeyRecord record = record_;
    record.group = "acme";
    cache_.put(key(1), record, 1ms);
    ASSERT_TRUE(find(key(1)));
    EXPECT_EQ(find(key(1))->record, record);
    const IdHash id = id_hash(record.id, "acme");
    EXPECT_EQ(find(key(1))->id, id);
    const KeyRecord head = cache_.find_head(key(1).hash(), id);
    EXPECT_EQ(head.id, record.id);
    EXPECT_EQ(head.group, "acme");
    EXPECT_EQ(cache_.find_head(key(1).hash(), id_hash(record.id)).id, "") << "without the group";
    record.group = std::string(64, 'g');
    record.plan = std::string(64, 'p');
    record.id = std::string(64, 'i');
    cache_.put(key(2), record, 1ms);
    ASSERT_TRUE(find(key(2)));
    EXPECT_EQ(find(key(2))->record, record);
    record.limits = std::string(128, '9');
    cache_.put(key(3), record, 1ms);
    EXPECT_FALSE(find(key(3))) << "all of them are longer than the longest place";
}

TEST_F(KeyCacheTest, FindsTheLongestDetailsThatARecordCanHave) {
    KeyRecord record = record_;
    record.name = std::string(256, 'n');
    record.scopes = std::string(kLongestScopes, 's');
    record.meta = std::string(512, 'm');
    record.from = std::string(kLongestAddressBlocks, 'f');
    record.prefix = std::string(kLongestKeyPrefix, 'p');
    record.retiring = true;
    cache_.put(key(1), record, 1ms);
    ASSERT_TRUE(find(key(1)));
    EXPECT_EQ(find(key(1))->record, record);
}

TEST_F(KeyCacheTest, LengthDecidesOverTheTable) {
    KeyRecord record = record_;
    record.limits = std::string(56 - record.id.size() - record.plan.size(), '9');
    record.name = "";
    cache_.put(key(1), record, 1ms);
    EXPECT_EQ(cache_.small().used, 1);
    EXPECT_EQ(find(key(1))->record, record);
    record.limits += '9';
    cache_.put(key(2), record, 1ms);
    EXPECT_EQ(cache_.large().used, 1);
    EXPECT_EQ(find(key(2))->record, record);
}

TEST_F(KeyCacheTest, LongDetailsTakeFurtherPlaces) {
    KeyRecord record = record_;
    record.name = "";
    record.scopes = "";
    const std::size_t room = 56 - record.id.size() - record.plan.size() - 2;
    for (const auto& [length, places] : std::map<std::size_t, std::uint64_t>{
             {room, 1}, {room + 1, 2}, {room + 56, 2}, {room + 57, 3}, {512, 10}}) {
        record.meta = std::string(length, 'm');
        cache_.put(key(1), record, 1ms);
        EXPECT_EQ(find(key(1))->record, record);
        EXPECT_EQ(cache_.small().used, places) << length;
    }
    record.meta = "";
    record.scopes = "a b";
    cache_.put(key(1), record, 1ms);
    EXPECT_EQ(find(key(1))->record, record);
    EXPECT_EQ(cache_.small().used, 1) << "the further places are free again";
}

TEST_F(KeyCacheTest, KeepsDetailsApart) {
    for (unsigned bits = 0; bits < 16; ++bits) {
        KeyRecord record = record_;
        record.name = (bits & 1U) != 0 ? "n" : "";
        record.scopes = (bits & 2U) != 0 ? "s" : "";
        record.meta = (bits & 4U) != 0 ? "m" : "";
        record.retiring = (bits & 8U) != 0;
        cache_.put(key(1), record, 1ms);
        EXPECT_EQ(find(key(1))->record, record) << bits;
    }
}

TEST_F(KeyCacheTest, ARecordWithoutAllItsPartsIsNotFound) {
    KeyRecord record = record_;
    record.meta = std::string(500, 'm');
    cache_.put(key(0), record, 0ms);
    EXPECT_TRUE(cache_.touch(key(0), 0ms));
    const auto has_head = [&] {
        return !cache_.find_head(key(0).hash(), id_hash(record.id)).id.empty();
    };
    bool was_without_parts = false;
    for (std::uint64_t n = 1; n < 300; ++n) {
        cache_.note_use(key(0), 1);
        cache_.put(key(n), record_, std::chrono::seconds(n));
        was_without_parts = was_without_parts || (has_head() && !find(key(0), 0ms));
    }
    EXPECT_TRUE(was_without_parts) << "some of its parts were evicted";
    EXPECT_FALSE(find(key(0)));
    EXPECT_FALSE(cache_.touch(key(0), 1s));
    cache_.put(key(0), record, 400s);
    EXPECT_EQ(find(key(0))->record, record);
}

TEST_F(KeyCacheTest, PartsAreUsedWithTheirRecord) {
    KeyRecord record = record_;
    record.meta = std::string(200, 'm');
    cache_.put(key(0), record, 0ms);
    for (std::uint64_t n = 1; n < 1000; ++n) {
        cache_.put(key(n), record_, std::chrono::seconds(n));
        EXPECT_TRUE(n % 2 == 0 ? find(key(0), std::chrono::seconds(n)).has_value()
                               : cache_.touch(key(0), std::chrono::seconds(n)));
    }
}

TEST_F(KeyCacheTest, PartsOfAnotherVersionAreNotUsed) {
    KeyRecord record = record_;
    record.meta = std::string(200, 'm');
    cache_.put(key(0), record, 1ms);
    const auto before = small_;
    record.meta = std::string(200, 'x');
    cache_.put(key(0), record, 2ms);
    // A worker was killed before it wrote the record: the first part has the new version.
    auto mixed = before;
    std::size_t copied = 0;
    constexpr std::size_t kEntry = 104;
    constexpr std::size_t kSet = std::size_t{2} * 32 + 8 * kEntry;
    constexpr std::size_t kHeader = 64;
    for (std::size_t at = kHeader; at + kSet <= mixed.size() && copied == 0; at += kSet) {
        for (std::size_t way = 0; way < 8; ++way) {
            const std::size_t entry = at + 64 + way * kEntry;
            const bool is_part = before[entry + 48] == std::byte{'m'};
            if (is_part && copied == 0) {
                std::copy_n(small_.begin() + static_cast<std::ptrdiff_t>(entry), kEntry,
                            mixed.begin() + static_cast<std::ptrdiff_t>(entry));
                ++copied;
            }
        }
    }
    ASSERT_EQ(copied, 1);
    small_ = mixed;
    EXPECT_FALSE(find(key(0)));
}

TEST_F(KeyCacheTest, FindsExtremeTimes) {
    for (const std::int64_t expires : {0L, 1L, 1L << 47U, -1L, 1L << 60U}) {
        KeyRecord record = record_;
        record.expires = std::chrono::sys_seconds(std::chrono::seconds(expires));
        cache_.put(key(1), record, 0ms);
        const auto found = find(key(1));
        for (const auto now : {0s, 1s, 4'000'000'000s}) {
            EXPECT_EQ(found->record.is_valid_at(std::chrono::sys_seconds(now)),
                      record.is_valid_at(std::chrono::sys_seconds(now)))
                << expires;
        }
    }
    cache_.put(key(1), record_, SteadyTime((1LL << 40U) - 1));
    EXPECT_EQ(find(key(1))->checked, SteadyTime((1LL << 40U) - 1));
}

TEST_F(KeyCacheTest, OverwritesWhatWasFoundBefore) {
    cache_.put(key(1), record_, 1ms);
    cache_.put(key(2), long_record_, 1ms);
    cache_.put_unknown(key(3), 2ms);
    KeyCache::Found found;
    ASSERT_TRUE(cache_.find(key(1), 1s, found));
    ASSERT_TRUE(cache_.find(key(2), 1s, found));
    EXPECT_EQ(found.record, long_record_);
    ASSERT_TRUE(cache_.find(key(1), 1s, found));
    EXPECT_EQ(found.record, record_);
    ASSERT_TRUE(cache_.find(key(3), 1s, found));
    EXPECT_FALSE(found.exists);
    EXPECT_EQ(found.checked, 2ms);
}

TEST_F(KeyCacheTest, RemembersWhyAKeyHasEnded) {
    KeyRecord record = record_;
    record.active = false;
    for (const KeyFault ended : {KeyFault::kRevoked, KeyFault::kNone}) {
        record.ended = ended;
        cache_.put(key(1), record, 1ms);
        EXPECT_EQ(find(key(1))->record, record);
    }
}

TEST_F(KeyCacheTest, AKeyHasOneEntry) {
    const auto used = [&] {
        return std::array{cache_.small().used, cache_.large().used, cache_.unknown().used};
    };
    using Used = std::array<std::uint64_t, 3>;
    cache_.put_unknown(key(1), 1ms);
    EXPECT_EQ(used(), (Used{0, 0, 1}));
    cache_.put(key(1), record_, 2ms);
    EXPECT_EQ(used(), (Used{1, 0, 0}));
    cache_.put(key(1), long_record_, 3ms);
    EXPECT_EQ(used(), (Used{kPartsOfLong, 1, 0}));
    cache_.put(key(1), record_, 4ms);
    EXPECT_EQ(used(), (Used{1, 0, 0}));
    EXPECT_EQ(find(key(1))->checked, 4ms);
    cache_.put_unknown(key(1), 5ms);
    EXPECT_EQ(used(), (Used{0, 0, 1}));
    EXPECT_FALSE(find(key(1))->exists);
}

TEST_F(KeyCacheTest, DoesNotKeepLongRecords) {
    cache_.put(key(1), record_, 1ms);
    KeyRecord record = long_record_;
    record.limits += '9';
    cache_.put(key(1), record, 2ms);
    EXPECT_FALSE(find(key(1))) << "nor what was known before";
    record = record_;
    record.id = std::string(128, 'i');
    cache_.put(key(1), record, 2ms);
    EXPECT_FALSE(find(key(1)));
    record = record_;
    record.meta = std::string(2000, 'm');
    cache_.put(key(1), record, 2ms);
    EXPECT_FALSE(find(key(1)));
}

TEST_F(KeyCacheTest, NotesTheUseOfAMinuteOnce) {
    EXPECT_TRUE(cache_.note_use(key(1), 7)) << "there is no record";
    cache_.put(key(1), record_, 1ms);
    cache_.put(key(2), long_record_, 1ms);
    for (std::uint64_t n = 1; n <= 2; ++n) {
        EXPECT_EQ(find(key(n))->used, 0);
        EXPECT_TRUE(cache_.note_use(key(n), 7));
        EXPECT_FALSE(cache_.note_use(key(n), 7));
        EXPECT_EQ(find(key(n))->used, 7);
        EXPECT_TRUE(cache_.note_use(key(n), 65'535));
        EXPECT_EQ(find(key(n))->used, 65'535);
    }
    cache_.put(key(1), long_record_, 2ms);
    cache_.put(key(2), record_, 2ms);
    EXPECT_FALSE(cache_.note_use(key(1), 65'535)) << "another look-up changes nothing";
    EXPECT_FALSE(cache_.note_use(key(2), 65'535));
    EXPECT_EQ(find(key(1))->record, long_record_);
    EXPECT_EQ(find(key(2))->record, record_);
}

TEST_F(KeyCacheTest, AFloodOfUnknownKeysDisplacesNoGoodOne) {
    for (std::uint64_t n = 0; n < 16; ++n) {
        cache_.put(key(n), record_, 0ms);
    }
    cache_.put(key(16), long_record_, 0ms);
    for (std::uint64_t n = 100; n < 10'000; ++n) {
        cache_.put_unknown(key(n), SteadyTime(n));
    }
    for (std::uint64_t n = 0; n <= 16; ++n) {
        EXPECT_TRUE(find(key(n))) << n;
    }
    EXPECT_EQ(cache_.unknown().used, cache_.unknown().size);
    EXPECT_EQ(cache_.unknown().evicted, 9'900 - cache_.unknown().size);
}

TEST_F(KeyCacheTest, WhatIsFoundStays) {
    cache_.put(key(0), record_, 0ms);
    for (std::uint64_t n = 1; n < 1000; ++n) {
        cache_.put(key(n), record_, std::chrono::seconds(n));
        EXPECT_TRUE(find(key(0), std::chrono::seconds(n)));
    }
    EXPECT_FALSE(find(key(1)));
}

}  // namespace
}  // namespace tollgate
