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
    std::vector<std::string> seen;
    QuotaCache::Cursor cursor;
    while (!cache_.visit_held(cursor, [&](const QuotaCache::Held& held) {
        const auto& id = seen.emplace_back(held.owner.view().id);
        const auto n = static_cast<unsigned>(std::stoi(id.substr(2)));
        EXPECT_EQ(held.owner.view().group, "");
        EXPECT_EQ(held.redis, 1U);
        EXPECT_EQ(held.api_key, 1000U + n);
        EXPECT_EQ(held.table, 7U);
        EXPECT_EQ(held.layout, WindowLayout(held.is_small ? two_ : four_));
        EXPECT_EQ(held.has_report, !held.is_small);
        for (const Rate& rate : held.quota("api").rates) {
            EXPECT_GT(rate.requests, kMostCounted) << "its limits are not known";
        }
        EXPECT_NE(cache_.load(key(n, held.quota("api"))), QuotaState{})
            << "it is found where it lies";
        return true;
    })) {
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"id1", "id3"}));
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
                    EXPECT_EQ(summary.owner.id, "id1");
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

}  // namespace
}  // namespace tollgate
