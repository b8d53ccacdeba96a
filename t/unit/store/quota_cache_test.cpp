#include "module/store/quota_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "module/quota/acquire_reply.hpp"
#include "module/quota/lease.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

class QuotaCacheTest : public testing::Test {
  protected:
    static IdHash id(unsigned n) {
        IdHash id{};
        id.fill(static_cast<unsigned char>(n));
        return id;
    }
    static QuotaCache::Key key(unsigned n, const TableQuota& quota, std::uint32_t redis = 1) {
        return {id(n), redis, quota, 1000 + n};
    }

    static TableQuota quota(std::vector<Rate> rates, std::uint32_t table = 7,
                            bool sliding = false) {
        return {.table = "api",
                .rates = std::move(rates),
                .sliding = sliding,
                .lease_time = kLeaseTime,
                .policies = {},
                .table_id = table};
    }

    /// A state in which every field has a different value.
    static QuotaState state(std::size_t windows) {
        QuotaState state;
        for (std::size_t i = 0; i < windows; ++i) {
            const auto n = static_cast<std::int64_t>(i);
            state.windows[i] = {
                {1'800'000'000 + n, 100 + n, 200 + n}, n % 2 == 0 ? 30 : -30, 40 + n};
        }
        state.lease = 12;
        state.counted_at = Instant(1'800'000'000'123ms);
        state.asked = 987'654'321'012ms;
        state.lease_calls = kMostLeaseCalls;
        state.returns_until = Instant(1'800'000'002'500ms);
        state.arrivals = {987'654'321'987ms, 50.25};
        state.owes_refund = true;
        return state;
    }

    alignas(64) std::array<std::byte, QuotaCache::SmallTable::memory_for(2)> small_{};
    alignas(64) std::array<std::byte, QuotaCache::LargeTable::memory_for(2)> large_{};
    alignas(64) std::array<std::byte, QuotaCache::ReportTable::memory_for(2)> reports_{};
    QuotaCache cache_{small_, large_, reports_};
    const TableQuota two_ = quota({{60, 60s}, {1000, 86400s}});
    const TableQuota four_ = quota({{1, 1s}, {60, 60s}, {100, 3600s}, {1000, 86400s}});
};

/// Counts in place are those of note_plain and apply_reply, which are not given what may not be
/// counted in place.
TEST_F(QuotaCacheTest, CountsInPlaceAsTheReplyWould) {
    std::mt19937 random(3);
    const auto any = [&](int most) { return std::uniform_int_distribution<>(0, most)(random); };
    int counted = 0;
    for (int round = 0; round < 20'000; ++round) {
        const Quotas quotas{any(1) == 0 ? two_ : quota({{50, 60s}}, 7, true)};
        const TableQuota& of = quotas.front();
        const Instant start{std::chrono::seconds(1'795'000'020)};
        QuotaState stored;
        Acquired acquired{.now = start + 5s, .granted = 1 + any(1)};
        for (std::size_t i = 0; i < of.rates.size(); ++i) {
            const std::int64_t number = window_number(acquired.now, of.rates[i].period);
            const std::int64_t previous = of.sliding ? any(9) : 0;
            stored.windows[i].counted = {number - any(1), any(40), previous};
            stored.windows[i].owed = any(19) == 0 ? 1 : 0;
            acquired.windows.push_back({number, any(50), previous});
        }
        stored.lease = any(19) == 0 ? 1 : 0;
        stored.own = any(5);
        stored.counted_at = start + std::chrono::milliseconds(any(5100));
        stored.asked = SteadyTime(50'000 + any(3000));
        stored.arrivals = {stored.asked - SteadyTime(any(500)), static_cast<float>(any(9))};
        stored.lease_calls = any(19) == 0 ? 1 : 0;
        stored.returns_until = any(19) == 0 ? start + std::chrono::seconds(any(9)) : Instant{};
        const SteadyTime sent(52'000 + any(1000));
        const QuotaCache::Key with_old_key(id(1), 1, of, 5);
        ASSERT_TRUE(cache_.save(with_old_key, stored, sent));
        const QuotaCache::Key of_reply = key(1, of);
        const bool was_changed = cache_.count_in_place(of_reply,
                                                       {.windows = acquired.windows,
                                                        .now = acquired.now,
                                                        .sent = sent,
                                                        .units = 2 * acquired.granted,
                                                        .constant = lease_horizon(of)},
                                                       sent);
        std::array expected{stored};
        if (was_changed) {
            ++counted;
            Acquire acquire;
            acquire.demand.cost = 2;
            acquire.count = acquired.granted;
            note_plain(expected, quotas, acquire, sent);
            apply_reply(expected, quotas, acquire, acquired);
            EXPECT_FALSE(is_held(expected.front()));
            EXPECT_EQ(expected.front().counts, UnitCounts{});
        }
        EXPECT_EQ(cache_.load(of_reply), expected.front());
        EXPECT_EQ(cache_.small().used, 1);
        QuotaCache::Cursor cursor;
        cache_.visit_held(cursor, [&](const QuotaCache::Held& held) {
            EXPECT_FALSE(was_changed);
            EXPECT_EQ(held.api_key, 5);
            return true;
        });
        cache_.drop({.id = id(1),
                     .api_key = 0,
                     .redis = 1,
                     .table = 7,
                     .layout = WindowLayout(of),
                     .state = {},
                     .has_report = false,
                     .is_small = true});
    }
    EXPECT_GT(counted, 1000);
}

/// What is stored in place after a grant is what save() stores.
TEST_F(QuotaCacheTest, SavesSpentUnitsAsSaveWould) {
    const auto saved = [&](const TableQuota& of, bool in_place) {
        const QuotaCache::Key with_old_key(id(1), 1, of, 5);
        QuotaState stored = state(of.rates.size());
        stored.report = Report{.number = 9, .adjustments = {{{1'800'000'000, 3, 1}}}};
        EXPECT_TRUE(cache_.save(with_old_key, stored, 1s));
        std::array states{QuotaState{}};
        const Place place = cache_.load(key(1, of), states.front());
        const Quotas quotas{of};
        states.front().lease -= 2;
        note_arrivals(states, quotas, {.cost = 2}, 1, 987'654'325'000ms);
        if (in_place) {
            cache_.save_spent(place, key(1, of), states.front(), 987'654'325'000ms);
        } else {
            cache_.save(place, key(1, of), states.front(), 987'654'325'000ms);
        }
        EXPECT_EQ(cache_.load(key(1, of)), states.front());
        EXPECT_EQ(states.front().lease, 10);
        QuotaCache::Cursor cursor;
        std::vector<std::uint64_t> api_keys;
        while (!cache_.visit_held(cursor, [&](const QuotaCache::Held& held) {
            api_keys.push_back(held.api_key);
            return true;
        })) {
        }
        EXPECT_EQ(api_keys, std::vector{key(1, of).api_key});
        return cache_.load(key(1, of));
    };
    for (const TableQuota& of : {two_, four_, quota({{50, 60s}}, 7, true)}) {
        const QuotaCache::Held held{.id = id(1),
                                    .api_key = 0,
                                    .redis = 1,
                                    .table = 7,
                                    .layout = WindowLayout(of),
                                    .state = {},
                                    .has_report = true,
                                    .is_small = is_small(of)};
        const QuotaState expected = saved(of, false);
        cache_.drop(held);
        EXPECT_EQ(saved(of, true), expected);
        cache_.drop(held);
    }
}

TEST_F(QuotaCacheTest, CountsInPlaceOnlyInSmallPlaces) {
    const std::array<WindowCount, 4> counts{};
    const PlainReply reply{.windows = counts, .now = Instant(5s), .sent = 5s};
    EXPECT_FALSE(cache_.count_in_place(key(1, two_), reply, 5s)) << "not stored";
    ASSERT_TRUE(cache_.save(key(1, four_), {}, 5s));
    EXPECT_FALSE(cache_.count_in_place(key(1, four_), reply, 5s));
}

TEST_F(QuotaCacheTest, IsEmptyAtFirst) {
    EXPECT_EQ(cache_.load(key(1, two_)), QuotaState{});
    EXPECT_EQ(cache_.load(key(1, four_)), QuotaState{});
}

TEST_F(QuotaCacheTest, LoadsWhatWasSaved) {
    EXPECT_TRUE(cache_.save(key(1, two_), state(2), 1s));
    EXPECT_EQ(cache_.load(key(1, two_)), state(2));
    EXPECT_EQ(cache_.load(key(2, two_)), QuotaState{});
    EXPECT_TRUE(cache_.save(key(1, two_), QuotaState{}, 1s));
    EXPECT_EQ(cache_.load(key(1, two_)), QuotaState{});
    EXPECT_EQ(cache_.small().used, 1);
}

TEST_F(QuotaCacheTest, DistinguishesTablesAndRedisWithSwappedNames) {
    const TableQuota eu = quota({{60, 60s}}, 17);
    const TableQuota us = quota({{60, 60s}}, 23);
    const std::array keys{key(1, eu, 17), key(1, us, 23), key(1, eu, 23), key(1, us, 17)};
    for (std::size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(cache_.load(keys[i]), QuotaState{}) << i;
        cache_.save(keys[i], state(1), 1s);
    }
    EXPECT_EQ(cache_.small().used, 4);
}

TEST_F(QuotaCacheTest, ManyWindowsAndLargeLimitsTakeLargePlaces) {
    cache_.save(key(1, four_), state(4), 1s);
    EXPECT_EQ(cache_.load(key(1, four_)), state(4));
    const TableQuota large = quota({{std::int64_t{1} << 31U, 1s}}, 8);
    cache_.save(key(2, large), state(1), 1s);
    EXPECT_EQ(cache_.load(key(2, large)), state(1));
    EXPECT_EQ(cache_.small().used, 0);
    EXPECT_EQ(cache_.large().used, 2);
    const TableQuota small = quota({{(std::int64_t{1} << 31U) - 1, 1s}});
    cache_.save(key(3, small), state(1), 1s);
    const TableQuota sliding = quota({{9, 1s}}, 7, true);
    cache_.save(key(4, sliding), state(1), 1s);
    EXPECT_EQ(cache_.small().used, 2);
}

TEST_F(QuotaCacheTest, KeepsQuotasApartThatAreNotCountedAlike) {
    const TableQuota other = quota({{60, 60s}, {2000, 3600s}});
    cache_.save(key(1, two_), state(2), 1s);
    EXPECT_EQ(cache_.load(key(1, other)), QuotaState{});
    cache_.save(key(1, other), state(1), 1s);
    EXPECT_EQ(cache_.load(key(1, two_)), state(2));
    const TableQuota higher = quota({{90, 60s}, {2000, 86400s}});
    EXPECT_EQ(cache_.load(key(1, higher)), state(2)) << "limits are no part of it";
}

TEST_F(QuotaCacheTest, ADayWithoutALimitTakesASmallPlace) {
    const TableQuota counted = quota({{60, 60s}, {kNoLimit, 86400s}});
    cache_.save(key(1, counted), state(2), 1s);
    EXPECT_EQ(cache_.small().used, 1);
    EXPECT_EQ(cache_.load(key(1, counted)), state(2));
    EXPECT_EQ(cache_.load(key(1, two_)), state(2)) << "limits are no part of it";
}

TEST_F(QuotaCacheTest, StoresTheWindowsOfFourRatesAndADay) {
    const TableQuota five =
        quota({{1, 1s}, {60, 60s}, {100, 3600s}, {kNoLimit, 86400s}, {1000, 172800s}});
    cache_.save(key(1, five), state(5), 1s);
    EXPECT_EQ(cache_.load(key(1, five)), state(5));
    EXPECT_EQ(cache_.load(key(1, four_)), QuotaState{});
}

TEST_F(QuotaCacheTest, KnowsAMonthFromItsMeanLength) {
    const TableQuota month = quota({{60, Period::month()}});
    const TableQuota last = quota({{60, 60s}, {1000, Period::month()}});
    const TableQuota mean = quota({{60, Period::month().length()}});
    cache_.save(key(1, month), state(1), 1s);
    EXPECT_EQ(cache_.load(key(1, month)), state(1));
    EXPECT_EQ(cache_.load(key(1, mean)), QuotaState{});
    cache_.save(key(1, last), state(2), 1s);
    EXPECT_EQ(cache_.load(key(1, last)), state(2));
    std::vector<Period> held;
    QuotaCache::Cursor cursor;
    cache_.visit_held(cursor, [&](const QuotaCache::Held& found) {
        held.push_back(found.quota("api").rates.back().period);
        return true;
    });
    EXPECT_EQ(held, (std::vector<Period>{Period::month(), Period::month()}));
}

TEST_F(QuotaCacheTest, KeepsAReportUntilItIsGone) {
    for (const TableQuota& quota : {two_, four_}) {
        QuotaState reporting = state(2);
        reporting.report = Report{9, {{{1, 2, 3}, {4, 5, 6}}}};
        EXPECT_TRUE(cache_.save(key(1, quota), reporting, 1s));
        EXPECT_EQ(cache_.load(key(1, quota)), reporting);
        reporting.report.reset();
        EXPECT_TRUE(cache_.save(key(1, quota), reporting, 1s));
        EXPECT_EQ(cache_.load(key(1, quota)), reporting);
        EXPECT_EQ(cache_.reports().used, 0);
    }
}

TEST_F(QuotaCacheTest, KeepsReportsOfSmallAndLargeLimitsApart) {
    const TableQuota large = quota({{60, 60s}, {std::int64_t{1} << 31U, 86400s}});
    QuotaState of_small = state(2);
    of_small.report = Report{9, {{{1, 2, 3}, {4, 5, 6}}}};
    QuotaState of_large = state(2);
    of_large.report = Report{10, {{{1, 7, 0}, {4, 8, 0}}}};
    EXPECT_TRUE(cache_.save(key(1, two_), of_small, 1s));
    EXPECT_TRUE(cache_.save(key(1, large), of_large, 1s));
    EXPECT_EQ(cache_.load(key(1, two_)), of_small);
    of_large.report.reset();
    EXPECT_TRUE(cache_.save(key(1, large), of_large, 1s));
    EXPECT_EQ(cache_.load(key(1, two_)), of_small);
}

TEST_F(QuotaCacheTest, SavesNothingIfAReportHasNoRoom) {
    QuotaState reporting = state(2);
    reporting.report = Report{9, {}};
    unsigned n = 0;
    while (cache_.save(key(++n, two_), reporting, 1s)) {
        ASSERT_LT(n, 17U);
    }
    EXPECT_EQ(n, 17U) << "two sets of eight";
    EXPECT_EQ(cache_.load(key(n, two_)), QuotaState{});
}

TEST_F(QuotaCacheTest, HeldQuotasAreNotEvicted) {
    QuotaState idle = state(2);
    idle.lease = 0;
    idle.windows = {};
    for (unsigned n = 1; n <= 15; ++n) {
        EXPECT_TRUE(cache_.save(key(n, two_), state(2), 1s));
    }
    for (unsigned n = 16; n <= 100; ++n) {
        EXPECT_TRUE(cache_.save(key(n, two_), idle, 2s)) << "one place changes hands";
    }
    EXPECT_TRUE(cache_.save(key(16, two_), state(2), 3s));
    EXPECT_FALSE(cache_.save(key(17, two_), state(2), 4s));
    for (unsigned n = 1; n <= 16; ++n) {
        EXPECT_EQ(cache_.load(key(n, two_)), state(2));
    }
}

/// A cache of many places, with the values of an id.
class ValuesInCacheTest : public QuotaCacheTest {
  protected:
    QuotaCache::Key value_key(unsigned n, std::uint64_t value) const {
        TableQuota quota = two_;
        quota.by = CountedBy::kValue;
        quota.value = ValueDigest(value);
        return key(n, quota);
    }
    QuotaCache::Key other_key(unsigned n) const {
        IdHash other{};
        std::mt19937 random(n);
        std::ranges::generate(other, random);
        return {other, 1, two_, n};
    }
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
        std::vector<std::uint64_t> found;
        for (const ValueDigest one : many_.held_values(key(3, quota))) {
            found.push_back(one.number());
        }
        std::vector expected{value(1), value(2), value(3)};
        std::ranges::sort(expected);
        std::ranges::sort(found);
        EXPECT_EQ(found, expected);
        EXPECT_TRUE(many_.held_values(key(4, quota)).empty());
    }
    QuotaCache::Cursor cursor;
    while (!many_.visit_held(cursor, [&](const QuotaCache::Held& held) {
        EXPECT_EQ(many_.drop(held).windows[0].owed, 1) << "it is found by its value";
        return true;
    })) {
    }
    EXPECT_TRUE(many_.held_values(key(3, two_)).empty());
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
    EXPECT_EQ(many_.held_values(key(1, two_)).size(), stored);
    for (unsigned n = 1; n <= 400; ++n) {
        EXPECT_EQ(many_.load(other_key(n)), counting(n)) << "of another id";
    }
}

/// More than a window counts.
constexpr std::int64_t kMostCounted = 1'000'000'000'000;

TEST_F(QuotaCacheTest, VisitsWhatIsHeld) {
    QuotaState owing;
    owing.windows[0].owed = 1;
    QuotaState reporting;
    reporting.report = Report{9, {}};
    cache_.save(key(1, two_), owing, 1s);
    cache_.save(key(2, two_), QuotaState{}, 1s);
    cache_.save(key(3, four_), reporting, 1s);
    std::vector<IdHash> seen;
    QuotaCache::Cursor cursor;
    while (!cache_.visit_held(cursor, [&](const QuotaCache::Held& held) {
        seen.push_back(held.id);
        EXPECT_EQ(held.redis, 1U);
        EXPECT_EQ(held.api_key, 1000U + held.id.front());
        EXPECT_EQ(held.table, 7U);
        EXPECT_EQ(held.layout, WindowLayout(held.is_small ? two_ : four_));
        EXPECT_EQ(held.has_report, !held.is_small);
        for (const Rate& rate : held.quota("api").rates) {
            EXPECT_GT(rate.requests, kMostCounted) << "its limits are not known";
        }
        EXPECT_NE(cache_.load(key(held.id.front(), held.quota("api"))), QuotaState{})
            << "it is found where it lies";
        return true;
    })) {
    }
    EXPECT_EQ(seen, (std::vector{id(1), id(3)}));
}

/// A quota is unpacked only if its summary says so.
TEST_F(QuotaCacheTest, TellsOfAHeldQuotaBeforeItIsUnpacked) {
    QuotaState leased;
    leased.lease = 3;
    leased.asked = 987'654'321'012ms;
    leased.arrivals = {987'654'321'987ms, 2};
    QuotaState owed = leased;
    owed.lease = 0;
    owed.windows[1].owed = -7;
    QuotaState owed_previous = leased;
    owed_previous.windows[0].owed_previous = 1;
    QuotaState reported = leased;
    reported.report = Report{9, {}};
    for (const TableQuota& of : {two_, four_, quota({{1000, Period::month()}})}) {
        for (const QuotaState& held : {leased, owed, owed_previous, reported}) {
            ASSERT_TRUE(cache_.save(key(1, of), held, 1s));
            int wanted = 0;
            int visited = 0;
            const auto is_wanted = [&](bool answer) {
                return [&, answer](const QuotaCache::HeldSummary& summary) {
                    EXPECT_EQ(summary.id, id(1));
                    EXPECT_EQ(summary.redis, 1U);
                    EXPECT_EQ(summary.table, 7U);
                    EXPECT_EQ(summary.shortest, of.rates.front().period);
                    EXPECT_EQ(summary.value, 0U);
                    EXPECT_EQ(summary.units, held_units(held));
                    ++wanted;
                    return QuotaCache::Look{answer, 0s};
                };
            };
            const auto visit = [&](const QuotaCache::Held& found) {
                EXPECT_EQ(found.summary().units, held_units(held));
                EXPECT_EQ(found.summary().shortest, of.rates.front().period);
                ++visited;
                return true;
            };
            QuotaCache::Cursor cursor;
            while (!cache_.visit_held(cursor, HeldPass{}, is_wanted(false), visit)) {
            }
            EXPECT_EQ(wanted, 1);
            EXPECT_EQ(visited, 0);
            while (!cache_.visit_held(cursor, HeldPass{}, is_wanted(true), visit)) {
            }
            EXPECT_EQ(wanted, 2);
            EXPECT_EQ(visited, 1);
            ASSERT_TRUE(cache_.save(key(1, of), QuotaState{}, 1s));
        }
    }
}

// The caller holds a lock.
TEST_F(QuotaCacheTest, VisitsFewHeldQuotasAtATime) {
    constexpr std::size_t kSets = 64;
    std::vector<std::uint64_t> memory(QuotaCache::SmallTable::memory_for(kSets) / 8);
    QuotaCache cache(std::as_writable_bytes(std::span(memory)), large_, reports_);
    QuotaState owing;
    owing.windows[0].owed = 1;
    constexpr std::size_t kHeld = 200;
    for (unsigned i = 0; i < kHeld; ++i) {
        ASSERT_TRUE(cache.save(key(i, two_), owing, 1s));
    }
    QuotaCache::Cursor cursor;
    std::size_t all = 0;
    bool is_complete = false;
    while (!is_complete) {
        std::size_t visited = 0;
        is_complete = cache.visit_held(cursor, [&](const QuotaCache::Held& /*held*/) {
            ++visited;
            return true;
        });
        EXPECT_LE(visited, QuotaCache::kMostVisited);
        all += visited;
    }
    EXPECT_EQ(all, kHeld);
}

TEST_F(QuotaCacheTest, KnowsWhenAHeldQuotaHasEnded) {
    QuotaCache::Held held{};
    held.layout = WindowLayout(two_);
    held.state.windows[0].counted.number = 100;
    held.state.windows[1].counted.number = 2;
    EXPECT_FALSE(held.has_ended(Instant(3 * 86400s - 1ms)));
    EXPECT_TRUE(held.has_ended(Instant(3 * 86400s)));
    held.layout.sliding = true;
    EXPECT_FALSE(held.has_ended(Instant(4 * 86400s - 1ms)));
    EXPECT_TRUE(held.has_ended(Instant(4 * 86400s)));
}

TEST_F(QuotaCacheTest, KnowsWhenAMonthHasEnded) {
    QuotaCache::Held held{};
    held.layout = WindowLayout(quota({{1000, Period::month()}}));
    const Instant end = std::chrono::sys_days(2024y / 3 / 1);
    held.state.windows[0].counted.number = window_number(end - 1ms, Period::month());
    EXPECT_FALSE(held.has_ended(end - 1ms));
    EXPECT_TRUE(held.has_ended(end));
}

TEST_F(QuotaCacheTest, DropsWhatIsHeld) {
    QuotaState reporting = state(2);
    reporting.report = Report{9, {}};
    cache_.save(key(1, two_), reporting, 1s);
    QuotaCache::Cursor cursor;
    std::vector<QuotaCache::Held> held;
    while (!cache_.visit_held(cursor, [&](const QuotaCache::Held& one) {
        held.push_back(one);
        return true;
    })) {
    }
    ASSERT_EQ(held.size(), 1U);
    EXPECT_EQ(cache_.drop(held.front()), reporting);
    EXPECT_EQ(cache_.load(key(1, two_)), QuotaState{});
    EXPECT_EQ(cache_.reports().used, 0);
}

TEST_F(QuotaCacheTest, ValuesThatDoNotFitAreClamped) {
    QuotaState extreme;
    extreme.windows[0] = {{kMost, kMost, kMost}, kMost, kMost};
    extreme.windows[1] = {{-1, -1, -1}, -kMost, -kMost};
    extreme.lease = kMost;
    extreme.counted_at = Instant(SteadyTime(kMost));
    extreme.asked = SteadyTime(kMost);
    extreme.returns_until = Instant(SteadyTime(kMost));
    extreme.arrivals = {SteadyTime(kMost), 1e30F};
    cache_.save(key(1, two_), extreme, 1s);

    constexpr std::int64_t kMost32 = 0xffff'ffff;
    constexpr std::int64_t kMost48 = 0xffff'ffff'ffff;
    QuotaState nearest;
    nearest.windows[0] = {{kMost32, kMost32, kMost32}, 0x7fff'ffff, 0x7fff'ffff};
    nearest.windows[1] = {{0, 0, 0}, -0x8000'0000LL, -0x8000'0000LL};
    nearest.lease = kMost32;
    nearest.counted_at = Instant(SteadyTime(kMost48));
    nearest.asked = SteadyTime(kMost48);
    nearest.returns_until = Instant(SteadyTime(kMost48));
    nearest.arrivals = {SteadyTime(kMost48), 1e30F};
    EXPECT_EQ(cache_.load(key(1, two_)), nearest);
    cache_.save(key(1, two_), nearest, 1s);
    EXPECT_EQ(cache_.load(key(1, two_)), nearest);

    cache_.save(key(1, four_), extreme, 1s);
    EXPECT_EQ(cache_.load(key(1, four_)), extreme) << "large places hold all";
}

TEST_F(QuotaCacheTest, SavesWhereItWasLoaded) {
    for (const TableQuota& quota : {two_, four_}) {
        QuotaState loaded;
        Place place = cache_.load(key(1, quota), loaded);
        EXPECT_EQ(loaded, QuotaState{});
        EXPECT_FALSE(place);
        cache_.save(place, key(1, quota), state(1), 1s);
        place = cache_.load(key(1, quota), loaded);
        EXPECT_EQ(loaded, state(1));
        EXPECT_TRUE(place);
        cache_.save(place, key(1, quota), state(2), 1s);
        EXPECT_EQ(cache_.load(key(1, quota)), state(2));
    }
    EXPECT_EQ(cache_.small().used, 1);
    EXPECT_EQ(cache_.large().used, 1);
}

TEST_F(QuotaCacheTest, OnlySavingCountsAsUse) {
    const auto with_count = [](std::int64_t count) {
        QuotaState state;
        state.windows[0].counted.count = count;
        return state;
    };
    for (unsigned n = 1; n <= 16; ++n) {
        cache_.save(key(n, two_), with_count(1), std::chrono::seconds(n));
    }
    cache_.save(key(1, two_), with_count(2), 17s);
    cache_.load(key(2, two_));
    cache_.save(key(17, two_), with_count(1), 18s);
    EXPECT_EQ(cache_.load(key(1, two_)), with_count(2));
    EXPECT_EQ(cache_.load(key(2, two_)), QuotaState{});
    EXPECT_EQ(cache_.load(key(3, two_)), with_count(1));
}

}  // namespace
}  // namespace tollgate
