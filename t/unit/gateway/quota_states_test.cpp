#include "module/store/quota_states.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

class QuotaStatesTest : public testing::Test {
  protected:
    static QuotaStates::Key key(unsigned char n, std::uint32_t table = 1) {
        QuotaStates::Key key{{}, table};
        key.id.fill(n);
        return key;
    }

    static TableQuota quota(std::vector<Rate> rates, std::uint32_t shape = 7,
                            bool sliding = false) {
        return {.table = "api",
                .rates = std::move(rates),
                .sliding = sliding,
                .leases = true,
                .policies = {},
                .shape = shape};
    }

    /// A state, every field of which has another value.
    static QuotaState state(std::size_t windows) {
        QuotaState state;
        for (std::size_t i = 0; i < windows; ++i) {
            const auto n = static_cast<std::int64_t>(i);
            state.windows[i] = {{1'800'000'000 + n, 100 + n, 200 + n}, n % 2 == 0 ? 30 : -30};
        }
        state.lease = 12;
        state.told_at = Instant(1'800'000'000'123ms);
        state.asked = 987'654'321'012ms;
        state.banned_until = Instant(1'900'000'000'456ms);
        state.strikes_told = 3;
        state.strikes_untold = 4;
        state.arrivals = {9'876'543'210, 50, 60};
        return state;
    }

    alignas(64) std::array<std::byte, QuotaStates::SmallTable::memory_for(2)> small_{};
    alignas(64) std::array<std::byte, QuotaStates::LargeTable::memory_for(2)> large_{};
    QuotaStates states_{small_, large_};
    const TableQuota two_ = quota({{60, 60s}, {1000, 86400s}});
    const TableQuota four_ = quota({{1, 1s}, {60, 60s}, {100, 3600s}, {1000, 86400s}});
};

TEST_F(QuotaStatesTest, IsEmptyAtFirst) {
    EXPECT_EQ(states_.load(key(1), two_), QuotaState{});
    EXPECT_EQ(states_.load(key(1), four_), QuotaState{});
}

TEST_F(QuotaStatesTest, LoadsWhatWasSaved) {
    states_.save(key(1), two_, state(2), 1s);
    EXPECT_EQ(states_.load(key(1), two_), state(2));
    EXPECT_EQ(states_.load(key(2), two_), QuotaState{});
    EXPECT_EQ(states_.load(key(1, 2), two_), QuotaState{}) << "of another table";
    states_.save(key(1), two_, QuotaState{}, 1s);
    EXPECT_EQ(states_.load(key(1), two_), QuotaState{});
    EXPECT_EQ(states_.small().used, 1);
}

TEST_F(QuotaStatesTest, ManyWindowsAndLargeLimitsTakeLargePlaces) {
    states_.save(key(1), four_, state(4), 1s);
    EXPECT_EQ(states_.load(key(1), four_), state(4));
    const TableQuota large = quota({{std::int64_t{1} << 31U, 1s}}, 8);
    states_.save(key(2), large, state(1), 1s);
    EXPECT_EQ(states_.load(key(2), large), state(1));
    EXPECT_EQ(states_.small().used, 0);
    EXPECT_EQ(states_.large().used, 2);
    states_.save(key(3), quota({{(std::int64_t{1} << 31U) - 1, 1s}}), state(1), 1s);
    states_.save(key(4), quota({{9, 1s}}, 7, true), state(1), 1s);
    EXPECT_EQ(states_.small().used, 2);
}

TEST_F(QuotaStatesTest, AnotherShapeIsEmpty) {
    const TableQuota other = quota({{60, 60s}, {2000, 86400s}}, 8);
    states_.save(key(1), two_, state(2), 1s);
    EXPECT_EQ(states_.load(key(1), other), QuotaState{});
    EXPECT_EQ(states_.load(key(1), two_), state(2));
    states_.save(key(1), other, state(1), 1s);
    EXPECT_EQ(states_.load(key(1), two_), QuotaState{});
    EXPECT_EQ(states_.small().used, 1);

    states_.save(key(1), four_, state(4), 1s);
    TableQuota reshaped = four_;
    reshaped.shape = 9;
    EXPECT_EQ(states_.load(key(1), reshaped), QuotaState{});
}

TEST_F(QuotaStatesTest, WhatDoesNotFitBecomesTheNearest) {
    QuotaState extreme;
    extreme.windows[0] = {{kMost, kMost, kMost}, kMost};
    extreme.windows[1] = {{-1, -1, -1}, -kMost};
    extreme.lease = kMost;
    extreme.told_at = Instant(SteadyTime(kMost));
    extreme.asked = SteadyTime(kMost);
    extreme.banned_until = Instant(-1ms);
    extreme.strikes_told = 65'536;
    extreme.strikes_untold = -1;
    extreme.arrivals = {kMost, 65'536, kMost};
    states_.save(key(1), two_, extreme, 1s);

    constexpr std::int64_t kMost32 = 0xffff'ffff;
    constexpr std::int64_t kMost48 = 0xffff'ffff'ffff;
    QuotaState nearest;
    nearest.windows[0] = {{kMost32, kMost32, kMost32}, 0x7fff'ffff};
    nearest.windows[1] = {{0, 0, 0}, -0x8000'0000LL};
    nearest.lease = kMost32;
    nearest.told_at = Instant(SteadyTime(kMost48));
    nearest.asked = SteadyTime(kMost48);
    nearest.strikes_told = 65'535;
    nearest.arrivals = {kMost48, 65'535, 65'535};
    EXPECT_EQ(states_.load(key(1), two_), nearest);
    states_.save(key(1), two_, nearest, 1s);
    EXPECT_EQ(states_.load(key(1), two_), nearest);

    states_.save(key(1), four_, extreme, 1s);
    EXPECT_EQ(states_.load(key(1), four_), extreme) << "large places hold all";
}

TEST_F(QuotaStatesTest, SavesWhereItWasLoaded) {
    for (const TableQuota& quota : {two_, four_}) {
        Place place;
        EXPECT_EQ(states_.load(key(1), quota, place), QuotaState{});
        EXPECT_FALSE(place);
        states_.save(place, key(1), quota, state(1), 1s);
        EXPECT_EQ(states_.load(key(1), quota, place), state(1));
        EXPECT_TRUE(place);
        states_.save(place, key(1), quota, state(2), 1s);
        EXPECT_EQ(states_.load(key(1), quota), state(2));
    }
    EXPECT_EQ(states_.small().used, 1);
    EXPECT_EQ(states_.large().used, 1);
}

TEST_F(QuotaStatesTest, OnlySavingCountsAsUse) {
    for (unsigned char n = 1; n <= 16; ++n) {
        states_.save(key(n), two_, state(1), std::chrono::seconds(n));
    }
    states_.save(key(1), two_, state(2), 17s);
    states_.load(key(2), two_);
    states_.save(key(17), two_, state(1), 18s);
    EXPECT_EQ(states_.load(key(1), two_), state(2));
    EXPECT_EQ(states_.load(key(2), two_), QuotaState{});
    EXPECT_EQ(states_.load(key(3), two_), state(1));
}

}  // namespace
}  // namespace tollgate
