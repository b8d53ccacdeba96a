// What is stored is loaded again, as far as it has a place.

#include <limits>

#include "t/unit/zone/quota_cache.hpp"

namespace tollgate {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

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

/// Two owners may have the same hash.
TEST_F(QuotaCacheTest, IsFoundByTheTextOfItsOwner) {
    const std::array<QuotaOwner, 9> owners{{{"a"},
                                            {"b"},
                                            {"ab"},
                                            {"a", "b"},
                                            {"a", "bc"},
                                            {"ab", "c"},
                                            {"a", "b0123456789012345678901234567890123456789"},
                                            {"b0123456789012345678901234567890123456789", "a"},
                                            {"b0123456789012345678901234567890123456789"}}};
    for (const TableQuota& quota : {two_, four_}) {
        for (std::size_t i = 0; i < owners.size(); ++i) {
            const QuotaCache::Key key(owners[i], id_hash("x"), 1, quota, 0);
            EXPECT_EQ(cache_.load(key), QuotaState{}) << i;
            QuotaState of_this;
            of_this.windows[0].counted.count = static_cast<std::int64_t>(i) + 1;
            of_this.lease = 1;
            EXPECT_TRUE(cache_.save(key, of_this, 1s));
        }
        for (std::size_t i = 0; i < owners.size(); ++i) {
            const QuotaCache::Key key(owners[i], id_hash("x"), 1, quota, 0);
            EXPECT_EQ(cache_.load(key).windows[0].counted.count, i + 1);
            EXPECT_TRUE(cache_.save(key, {}, 1s));
        }
    }
    EXPECT_EQ(cache_.small().used, 6);
    EXPECT_EQ(cache_.large().used, 3 + 9);
}

TEST_F(QuotaCacheTest, AHeldQuotaTellsItsOwner) {
    const std::string longest(kLongestId, 'x');
    const std::string uuid = "01234567-89ab-cdef-0123-456789abcdef";
    for (const QuotaOwner& whose : {QuotaOwner{"a"}, QuotaOwner{"a", "acme"}, QuotaOwner{uuid},
                                    QuotaOwner{uuid, "acme"}, QuotaOwner{longest, longest}}) {
        for (const TableQuota& quota : {two_, four_}) {
            ASSERT_TRUE(cache_.save(key(whose, quota), state(2), 1s));
            std::vector<QuotaCache::Held> held;
            QuotaCache::Cursor cursor;
            while (!cache_.visit_held(cursor, [&](const QuotaCache::Held& one) {
                held.push_back(one);
                return true;
            })) {
            }
            ASSERT_EQ(held.size(), 1U);
            EXPECT_EQ(held.front().owner.view().id, whose.id);
            EXPECT_EQ(held.front().owner.view().group, whose.group);
            EXPECT_EQ(held.front().id(), id_hash(whose.id, whose.group));
            EXPECT_EQ(held.front().is_small, is_small(quota));
            EXPECT_EQ(is_small(held.front().quota("api")), is_small(quota));
            EXPECT_EQ(cache_.drop(held.front()), state(2));
        }
    }
    EXPECT_EQ(cache_.small().used + cache_.large().used, 0);
}

TEST_F(QuotaCacheTest, AShortOwnerTakesASmallPlace) {
    EXPECT_TRUE(key({"01234567-89ab-cdef-0123-456789abcdef"}, two_).is_in_small);
    EXPECT_TRUE(key({"key_0123456789AB", "a-group-of-19-bytes"}, two_).is_in_small);
    EXPECT_FALSE(key({"01234567-89ab-cdef-0123-456789abcdef-"}, two_).is_in_small);
    EXPECT_FALSE(key({"key_0123456789AB", "a-group-of-20-bytes-"}, two_).is_in_small);
    EXPECT_FALSE(key({"a"}, four_).is_in_small);
}

/// What lies beside a quota has no owner.
TEST_F(QuotaCacheTest, IsFoundByTheHashOfItsOwner) {
    const std::string longest(kLongestId, 'x');
    for (const QuotaOwner& whose :
         {QuotaOwner{"a"}, QuotaOwner{"a", "acme"}, QuotaOwner{longest, "acme"}}) {
        for (const TableQuota& quota : {two_, four_}) {
            ASSERT_TRUE(cache_.save(key(whose, quota), state(2), 1s));
            const QuotaCache::StoredKey stored(key(whose, quota));
            QuotaState loaded;
            const TablePosition place = cache_.load(stored.key(), loaded);
            EXPECT_EQ(loaded, state(2));
            loaded.lease = 99;
            ASSERT_TRUE(cache_.save(place, stored.key(), loaded, 1s));
            EXPECT_EQ(cache_.load(key(whose, quota)), loaded);
            EXPECT_EQ(cache_.load(QuotaCache::StoredKey(key({"b"}, quota)).key()), QuotaState{});
        }
    }
}

TEST_F(QuotaCacheTest, KnowsWhenUnitsMayReturn) {
    for (const auto after : {-59'000ms, 0ms, 1ms, 2500ms, std::chrono::milliseconds(49 * 24h)}) {
        QuotaState expecting = state(2);
        expecting.returns_until = expecting.counted_at + after;
        ASSERT_TRUE(cache_.save(key(1, two_), expecting, 1s));
        EXPECT_EQ(cache_.load(key(1, two_)), expecting);
    }
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

TEST_F(QuotaCacheTest, KeepsOwedUnitsOfAnyNumber) {
    for (const bool has_report : {false, true}) {
        for (const std::int64_t units : {std::int64_t{1} << 23U, std::int64_t{1} << 31U,
                                         -(std::int64_t{1} << 40U), Units::kMost, -Units::kMost}) {
            for (const bool is_previous : {false, true}) {
                QuotaState owing = state(2);
                auto& window = owing.windows[is_previous ? 1 : 0];
                (is_previous ? window.owed_previous : window.owed) = units;
                if (has_report) {
                    owing.report = Report{9, {{{1, 2, 3}, {4, 5, 6}}}};
                }
                EXPECT_TRUE(cache_.save(key(1, two_), owing, 1s));
                EXPECT_EQ(cache_.load(key(1, two_)), owing) << units;
                EXPECT_EQ(cache_.reports().used, 1);
                EXPECT_TRUE(cache_.save(key(1, two_), state(2), 1s));
                EXPECT_EQ(cache_.load(key(1, two_)), state(2));
                EXPECT_EQ(cache_.reports().used, 0);
            }
        }
    }
}

TEST_F(QuotaCacheTest, IsUnchangedIfThereIsNoRoomForOwedUnits) {
    constexpr unsigned kOthers = 8;
    QuotaState reporting = state(4);
    reporting.report = Report{9, {}};
    for (unsigned n = 1; n <= kOthers; ++n) {
        EXPECT_TRUE(cache_.save(key(n, four_), reporting, 1s)) << "leaves small places free";
    }
    QuotaState owing = state(2);
    owing.windows[1].owed = std::int64_t{1} << 40U;
    unsigned saved = 0;
    while (cache_.save(key(saved + 1, two_), owing, 1s)) {
        ++saved;
    }
    EXPECT_EQ(saved, cache_.reports().size - kOthers);
    EXPECT_EQ(cache_.load(key(1, two_)), owing);
    EXPECT_EQ(cache_.load(key(saved + 1, two_)), QuotaState{});
    EXPECT_EQ(cache_.small().used, saved);
    EXPECT_TRUE(cache_.save(key(saved + 1, two_), state(2), 1s)) << "a small place is free";
    EXPECT_FALSE(cache_.save(key(saved + 1, two_), owing, 1s));
    EXPECT_EQ(cache_.load(key(saved + 1, two_)), state(2));
    EXPECT_TRUE(cache_.save(key(1, two_), state(2), 1s));
    EXPECT_TRUE(cache_.save(key(saved + 1, two_), owing, 1s)) << "there is room again";
    EXPECT_EQ(cache_.load(key(saved + 1, two_)), owing);
    EXPECT_EQ(cache_.load(key(1, two_)), state(2));
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

TEST_F(QuotaCacheTest, KeepsLostCallsUntilTheyAreGone) {
    for (const TableQuota& quota : {two_, four_}) {
        for (const bool has_report : {false, true}) {
            QuotaState losing = state(2);
            losing.lease = 0;
            for (auto& window : losing.windows) {
                window.owed = window.owed_previous = 0;
            }
            if (has_report) {
                losing.report = Report{9, {{{1, 2, 3}, {4, 5, 6}}}};
            }
            const QuotaState without = losing;
            losing.lost_calls.add(7, 5s);
            losing.lost_calls.add(8, 6s);
            EXPECT_TRUE(cache_.save(key(1, quota), losing, 1s));
            EXPECT_EQ(cache_.load(key(1, quota)), losing);
            int held = 0;
            QuotaCache::Cursor cursor;
            while (!cache_.visit_held(cursor, [&](const QuotaCache::Held& found) {
                EXPECT_EQ(found.summary().due_at(), SteadyTime{}) << "at once";
                ++held;
                return true;
            })) {
            }
            EXPECT_EQ(held, 1);
            EXPECT_TRUE(cache_.save(key(1, quota), without, 1s));
            EXPECT_EQ(cache_.load(key(1, quota)), without);
            EXPECT_EQ(cache_.reports().used, has_report ? 1 : 0);
            EXPECT_TRUE(cache_.save(key(1, quota), {}, 1s));
        }
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

/// All but owed units, which are beside the place if it has no room.
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
    nearest.windows[0] = {{kMost32, kMost32, kMost32}, Units::kMost, Units::kMost};
    nearest.windows[1] = {{0, 0, 0}, -Units::kMost, -Units::kMost};
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
        TablePosition place = cache_.load(key(1, quota), loaded);
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
