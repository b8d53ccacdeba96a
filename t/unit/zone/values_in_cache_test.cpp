// The values of an id, which may be many, take no places of other ids.

#include "t/unit/zone/quota_cache.hpp"

namespace tollgate {
namespace {

/// A cache of many places, with the values of an id.
class ValuesInCacheTest : public QuotaCacheTest {
  protected:
    QuotaCache::Key value_key(unsigned n, std::uint64_t value) const {
        TableQuota quota = two_;
        quota.by = CountedBy::kValue;
        quota.value = ValueDigest(value);
        return key(n, quota);
    }
    QuotaCache::Key other_key(unsigned n) const { return key(1000 + n, two_); }
    static QuotaState counting(std::int64_t units) {
        QuotaState counting;
        counting.windows[0].counted.count = units;
        return counting;
    }
    /// Fills the cache with quotas of other ids, until one is evicted. Returns those that are still
    /// stored.
    std::vector<unsigned> fill() {
        unsigned n = 0;
        while (many_.small().evicted == 0) {
            ++n;
            EXPECT_TRUE(many_.save(other_key(n), counting(n), 1s));
        }
        std::vector<unsigned> stored;
        for (unsigned i = 1; i <= n; ++i) {
            if (many_.load(other_key(i)) == counting(i)) {
                stored.push_back(i);
            }
        }
        return stored;
    }
    /// How many of the first values of an id are stored.
    unsigned stored_values(unsigned of, unsigned values) const {
        unsigned count = 0;
        for (unsigned i = 1; i <= values; ++i) {
            count += many_.find(value_key(of, value(i))) ? 1 : 0;
        }
        return count;
    }
    /// How many values of an id are held.
    unsigned held_values(unsigned of) const {
        unsigned count = 0;
        QuotaCache::Cursor cursor;
        while (!many_.visit_held(cursor, [&](const QuotaCache::Held& held) {
            count += held.owner.is(owner(of)) && held.value != 0 ? 1 : 0;
            return true;
        })) {
        }
        return count;
    }
    /// The n-th of many values.
    static std::uint64_t value(std::uint64_t n) { return n * 0x9e3779b97f4a7c15U + 1; }

    static constexpr unsigned kPlaces = 4096;
    std::vector<std::uint64_t> memory_ =
        std::vector<std::uint64_t>(QuotaCache::SmallTable::memory_for(kPlaces / 8) / 8);
    QuotaCache many_{std::as_writable_bytes(std::span(memory_)), large_, reports_};
};

TEST_F(ValuesInCacheTest, EachIsStoredForItself) {
    for (unsigned n = 1; n <= 5; ++n) {
        ASSERT_TRUE(many_.save(value_key(1, value(n)), counting(n), 1s));
        ASSERT_TRUE(many_.save(value_key(2, value(n)), counting(10 + n), 1s));
    }
    ASSERT_TRUE(many_.save(key(1, two_), counting(99), 1s));
    for (unsigned n = 1; n <= 5; ++n) {
        EXPECT_EQ(many_.load(value_key(1, value(n))), counting(n));
        EXPECT_EQ(many_.load(value_key(2, value(n))), counting(10 + n));
    }
    EXPECT_EQ(many_.load(key(1, two_)), counting(99)) << "the quota of the id";
    EXPECT_EQ(many_.load(value_key(1, value(6))), QuotaState{});
}

TEST_F(ValuesInCacheTest, AreFoundWhereTheyAreHeld) {
    for (const bool is_small : {true, false}) {
        TableQuota quota = is_small ? two_ : four_;
        QuotaState owing;
        owing.windows[0].owed = 1;
        for (unsigned n = 1; n <= 5; ++n) {
            quota.value = ValueDigest(value(n));
            ASSERT_TRUE(many_.save(key(3, quota), n <= 3 ? owing : counting(1), 1s));
        }
        quota.value = {};
    }
    EXPECT_EQ(held_values(3), 6);
    EXPECT_EQ(held_values(4), 0);
    QuotaCache::Cursor cursor;
    while (!many_.visit_held(cursor, [&](const QuotaCache::Held& held) {
        EXPECT_EQ(many_.drop(held).windows[0].owed, 1) << "it is found by its value";
        return true;
    })) {
    }
    EXPECT_EQ(held_values(3), 0);
}

TEST_F(ValuesInCacheTest, AFloodEvictsValuesOfTheSameId) {
    for (unsigned n = 1; n <= 400; ++n) {
        ASSERT_TRUE(many_.save(other_key(n), counting(n), 1s));
    }
    for (unsigned n = 1; n <= 20'000; ++n) {
        ASSERT_TRUE(many_.save(value_key(1, value(n)), counting(n), 2s + n * 1ms));
    }
    EXPECT_LE(many_.small().used, 400 + QuotaCache::kMostValues);
    // Some sets belong to several pairs.
    EXPECT_GT(many_.small().used, 400 + QuotaCache::kMostValues * 3 / 4);
    for (unsigned n = 1; n <= 400; ++n) {
        EXPECT_EQ(many_.load(other_key(n)), counting(n)) << "of another id";
    }
    EXPECT_EQ(many_.load(value_key(1, value(20'000))), counting(20'000));
}

TEST_F(ValuesInCacheTest, AFloodInAFullCacheEvictsNoOtherId) {
    const auto stored = fill();
    unsigned values = 0;
    for (unsigned i = 1; i <= 10'000; ++i) {
        values += many_.save(value_key(1, value(i)), counting(i), 2s + i * 1ms) ? 1 : 0;
    }
    EXPECT_GT(values, 0) << "a few places were free";
    for (const unsigned n : stored) {
        EXPECT_EQ(many_.load(other_key(n)), counting(n)) << n;
    }
    ASSERT_TRUE(many_.save(other_key(0), counting(1), 20s)) << "the quota of an id evicts another";
}

TEST_F(ValuesInCacheTest, AFloodInAFullCacheEvictsNoValueOfAnotherId) {
    constexpr unsigned kValues = 100;
    for (unsigned n = 1; n <= kValues; ++n) {
        ASSERT_TRUE(many_.save(value_key(2, value(n)), counting(n), 1s));
    }
    fill();  // may evict one of them
    for (unsigned i = 1; i <= 10'000; ++i) {
        many_.save(value_key(1, value(i)), counting(i), 2s + i * 1ms);
    }
    EXPECT_GE(stored_values(2, kValues), kValues - 1);
}

TEST_F(ValuesInCacheTest, AValueTakesThePlaceOfAQuotaWhoseWindowsHaveEnded) {
    constexpr unsigned kValues = 1000;
    const auto stored = fill();
    const SteadyTime end = 1s + 86400s;
    const auto flood = [&](SteadyTime now) {
        for (unsigned i = 1; i <= kValues; ++i) {
            many_.save(value_key(1, value(i)), counting(i), now);
        }
    };
    flood(end);
    for (const unsigned n : stored) {
        EXPECT_EQ(many_.load(other_key(n)), counting(n)) << n;
    }
    EXPECT_LE(stored_values(1, kValues), kPlaces - stored.size());
    flood(end + 2min);
    EXPECT_GT(stored_values(1, kValues), QuotaCache::kMostValues * 3 / 4);
}

TEST_F(ValuesInCacheTest, AGroupIsNoValue) {
    fill();
    TableQuota quota = two_;
    quota.by = CountedBy::kGroup;
    quota.value = ValueDigest::of_group();
    for (unsigned n = 1; n <= 20; ++n) {
        EXPECT_TRUE(many_.save(key(n, quota), counting(1), 2s)) << n;
    }
}

/// The value is in a place of a bucket only when the bucket is full.
TEST_F(QuotaCacheTest, AValueTakesThePlaceOfAFullBucket) {
    const TableQuota bucket = quota({{1, 86400s, 30}, {1000, 86400s}});
    QuotaState empty;
    empty.windows[0].counted = {.number = 1, .count = 30 * 86'400'000'000};
    for (unsigned n = 1; n <= 16; ++n) {
        ASSERT_TRUE(cache_.save(key(n, bucket), empty, 1s));
    }
    EXPECT_EQ(cache_.large().used, cache_.large().size);
    TableQuota of_value = bucket;
    of_value.by = CountedBy::kValue;
    of_value.value = ValueDigest(7);
    EXPECT_FALSE(cache_.save(key(20, of_value), empty, 1s + 30 * 86400s));
    EXPECT_TRUE(cache_.save(key(20, of_value), empty, 2min + 30 * 86400s));
}

TEST_F(ValuesInCacheTest, AFloodOfHeldValuesFindsNoRoom) {
    for (unsigned n = 1; n <= 400; ++n) {
        ASSERT_TRUE(many_.save(other_key(n), counting(n), 1s));
    }
    QuotaState owing;
    owing.windows[0].owed = 1;
    unsigned stored = 0;
    for (unsigned n = 1; n <= 5'000; ++n) {
        stored += many_.save(value_key(1, value(n)), owing, 2s) ? 1 : 0;
    }
    EXPECT_LE(stored, QuotaCache::kMostValues);
    EXPECT_GT(stored, QuotaCache::kMostValues * 3 / 4);
    EXPECT_EQ(held_values(1), stored);
    for (unsigned n = 1; n <= 400; ++n) {
        EXPECT_EQ(many_.load(other_key(n)), counting(n)) << "of another id";
    }
}

}  // namespace
}  // namespace tollgate
