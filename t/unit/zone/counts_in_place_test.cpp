// Counts that change in place are those that load and save would leave.

#include <random>

#include "module/quota/acquire_reply.hpp"
#include "t/unit/zone/quota_cache.hpp"

namespace tollgate {
namespace {

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
        const QuotaCache::Key with_old_key = key(owner(1), of);
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
            const ClockBounds at_reply{sent, acquired.now, acquired.now, acquired.now};
            apply_reply(expected, quotas, acquire, acquired, at_reply);
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
        cache_.drop({.owner = StoredOwner<kLongestOwner>(owner(1)),
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

/// A plain state is told from others as if it was loaded.
TEST_F(QuotaCacheTest, TellsPlainStatesInPlace) {
    std::mt19937 random(5);
    const auto any = [&](int most) { return std::uniform_int_distribution<>(0, most)(random); };
    int plain = 0;
    for (int round = 0; round < 20'000; ++round) {
        Quotas quotas{any(1) == 0 ? two_ : quota({{50, 60s}}, 7, true)};
        TableQuota& of = quotas.front();
        of.lease_time = any(3) == 0 ? SteadyTime(0) : kLeaseTime;
        QuotaState stored;
        for (std::size_t i = 0; i < of.rates.size(); ++i) {
            stored.windows[i].counted = {30'000'000, any(70), of.sliding ? any(9) : 0};
            stored.windows[i].owed = any(19) == 0 ? -1 : 0;
            stored.windows[i].owed_previous = any(19) == 0 ? 1 : 0;
        }
        stored.lease = any(19) == 0 ? 1 : 0;
        stored.lease_calls = any(19) == 0 ? 1 : 0;
        stored.arrivals.units = static_cast<float>(any(60)) / 10;
        if (any(19) == 0) {
            stored.report.emplace().number = 1;
        }
        ASSERT_TRUE(cache_.save(key(1, of), stored, 5s));
        const Demand demand{.cost = any(3)};
        TablePosition place;
        const bool is_plain_there = cache_.is_plain(key(1, of), of, demand.cost.steps(), place);
        EXPECT_EQ(is_plain_there, is_plain(std::span(&stored, 1), quotas, demand));
        EXPECT_TRUE(place);
        plain += is_plain_there ? 1 : 0;
        stored = {};
        ASSERT_TRUE(cache_.save(place, key(1, of), stored, 5s));
    }
    EXPECT_GT(plain, 1000);
    TablePosition place;
    EXPECT_FALSE(cache_.is_plain(key(9, two_), two_, 1, place)) << "not stored";
    ASSERT_TRUE(cache_.save(key(9, four_), {}, 5s));
    EXPECT_FALSE(cache_.is_plain(key(9, four_), four_, 1, place)) << "in a large place";
}

/// What is stored in place after a grant is what save() stores.
TEST_F(QuotaCacheTest, SavesSpentUnitsAsSaveWould) {
    const auto saved = [&](const TableQuota& of, bool in_place) {
        const QuotaCache::Key with_old_key = key(owner(1), of);
        QuotaState stored = state(of.rates.size());
        stored.report = Report{.number = 9, .adjustments = {{{1'800'000'000, 3, 1}}}};
        EXPECT_TRUE(cache_.save(with_old_key, stored, 1s));
        std::array states{QuotaState{}};
        const TablePosition place = cache_.load(key(1, of), states.front());
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
        const QuotaCache::Held held{.owner = StoredOwner<kLongestOwner>(owner(1)),
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

}  // namespace
}  // namespace tollgate
