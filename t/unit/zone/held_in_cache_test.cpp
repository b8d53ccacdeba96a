// Quotas that the node owes to Redis, or that lease units of it, are visited and dropped.

#include "t/unit/zone/quota_cache.hpp"

namespace tollgate {
namespace {

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
    QuotaCache cache(std::as_writable_bytes(std::span(memory)), large_, reports_, layouts_);
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

TEST_F(QuotaCacheTest, FindsWhatAnIdHoldsInAnyWindows) {
    TableQuota of_group = quota({{60, 60s}});
    of_group.by = CountedBy::kGroup;
    of_group.value = ValueDigest::of_group();
    TableQuota of_value = quota({{60, 60s}}, 8);
    of_value.by = CountedBy::kValue;
    of_value.value = ValueDigest::of("alice");
    unsigned n = 0;
    QuotaState held;
    held.lease = 1;
    for (const TableQuota& quota : {two_, four_, of_group, of_value, quota({{5, 1h}}, 9, true)}) {
        ++n;
        EXPECT_TRUE(cache_.save(key(n, quota), {}, 1s));
        EXPECT_FALSE(cache_.is_any_held(id(n), 1));
        EXPECT_TRUE(cache_.save(key(n, quota), held, 1s));
        EXPECT_TRUE(cache_.is_any_held(id(n), 1)) << n;
        EXPECT_FALSE(cache_.is_any_held(id(n), 2));
        EXPECT_FALSE(cache_.is_any_held(id(n + 100), 1));
        EXPECT_TRUE(cache_.save(key(n, quota), {}, 1s));
        EXPECT_FALSE(cache_.is_any_held(id(n), 1));
    }
    EXPECT_TRUE(cache_.knows_layouts());
    for (std::uint32_t table = 100; table < 100 + QuotaLayouts::kMost; ++table) {
        cache_.save(key(1, quota({{60, 60s}}, table)), {}, 1s);
    }
    EXPECT_FALSE(cache_.knows_layouts());
}

}  // namespace
}  // namespace tollgate
