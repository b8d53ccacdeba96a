#include "module/plan/window.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

Instant at(std::int64_t ms) {
    return Instant(std::chrono::milliseconds(ms));
}

WindowState window(std::int64_t remaining, std::int64_t reset, bool exhausted = false) {
    return {{10, 1s}, remaining, at(reset), exhausted};
}

TEST(Window, IsAlignedToTheEpoch) {
    EXPECT_EQ(window_number(at(0), 60s), 0);
    EXPECT_EQ(window_number(at(59'999), 60s), 0);
    EXPECT_EQ(window_number(at(60'000), 60s), 1);
    EXPECT_EQ(window_end(0, 60s), at(60'000));
    EXPECT_EQ(window_end(window_number(at(86'400'000), 86400s), 86400s), at(172'800'000));
}

TEST(Roll, KeepsAWindowUntilItEnds) {
    const WindowCount window{2, 5, 3};
    EXPECT_EQ(roll(window, 10s, at(20'000)), window);
    EXPECT_EQ(roll(window, 10s, at(29'999)), window);
}

TEST(Roll, RemembersTheWindowBefore) {
    EXPECT_EQ(roll({2, 5, 3}, 10s, at(30'000)), (WindowCount{3, 0, 5}));
    EXPECT_EQ(roll({2, 5, 3}, 10s, at(39'999)), (WindowCount{3, 0, 5}));
    EXPECT_EQ(roll({2, 5, 3}, 10s, at(40'000)), (WindowCount{4, 0, 0}));
}

TEST(Roll, StartsANewWindowWhereNothingWasCounted) {
    EXPECT_EQ(roll({}, 10s, at(1'795'000'000'000)), (WindowCount{179'500'000, 0, 0}));
}

TEST(Roll, KeepsAWindowToComeThatIsNearEnough) {
    const WindowCount next_day{2, 5, 3};
    EXPECT_EQ(roll(next_day, 86400s, at(86'400'000)), next_day) << "the next window, a day off";
    EXPECT_EQ(roll(next_day, 86400s, at(86'399'999)), (WindowCount{0, 0, 0}));
    const WindowCount in_a_minute{100, 5, 3};
    EXPECT_EQ(roll(in_a_minute, 1s, at(40'000)), in_a_minute);
    EXPECT_EQ(roll(in_a_minute, 1s, at(39'999)), (WindowCount{39, 0, 0}));
}

TEST(Spent, IsTheCountOfAFixedWindow) {
    EXPECT_EQ(spent({2, 5, 1000}, 10s, false, at(20'000)), 5);
}

TEST(Spent, IsAlsoWhatOverlapsOfTheWindowBeforeRoundedUp) {
    const WindowCount window{2, 5, 10};
    EXPECT_EQ(spent(window, 10s, true, at(20'000)), 15);
    EXPECT_EQ(spent(window, 10s, true, at(20'001)), 15);
    EXPECT_EQ(spent(window, 10s, true, at(21'000)), 14);
    EXPECT_EQ(spent(window, 10s, true, at(29'999)), 6);
    EXPECT_EQ(spent(window, 10s, true, at(30'000)), 5);
}

TEST(Spent, IsAllOfTheWindowBeforeWhereTheClockIsBackInIt) {
    EXPECT_EQ(spent({2, 5, 10}, 10s, true, at(15'000)), 15);
}

TEST(Spent, HoldsForTheLargestLimitAndPeriod) {
    const std::chrono::seconds year = 366 * 24h;
    const std::int64_t most = 1'000'000'000'000;
    const std::int64_t length = std::chrono::milliseconds(year).count();
    EXPECT_EQ(spent({2, most, most}, year, true, at(2 * length)), 2 * most);
    EXPECT_EQ(spent({2, most, most}, year, true, at(2 * length + length / 4)), most + most / 4 * 3);
    EXPECT_EQ(spent({2, 0, most}, year, true, at(3 * length - 1)), 32) << "31.6 of them";
}

/// The first time at which the window or a later one has room, found by trying each ms.
Instant first_room(WindowCount window, const Rate& rate, std::int64_t need) {
    Instant now = window_end(window.number - 1, rate.period);
    while (true) {
        window = roll(window, rate.period, now);
        if (spent(window, rate.period, true, now) + need <= rate.requests) {
            return now;
        }
        now += 1ms;
    }
}

TEST(RoomAt, IsTheFirstMillisecondWithRoomForTheRequest) {
    std::mt19937 random(1);
    const auto number = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    for (int i = 0; i < 3'000; ++i) {
        const Rate rate{number(1, 20), std::chrono::seconds(number(1, 2))};
        const WindowCount window{number(1, 9), number(0, 25), number(0, 25)};
        const auto need = number(1, rate.requests);
        ASSERT_EQ(room_at(window, rate, need), first_room(window, rate, need))
            << window.count << " and " << window.previous << " of " << rate.requests << ", "
            << rate.period.length().count() << " s; for " << need;
    }
}

TEST(RoomAt, HoldsForTheLargestLimitAndPeriod) {
    const Rate rate{1'000'000'000'000, 366 * 24h};
    const auto length = std::chrono::milliseconds(rate.period.length()).count();
    for (const std::int64_t previous : {1LL, 999'999'999'999LL, 1'000'000'000'000LL}) {
        const WindowCount window{2, rate.requests / 2, previous};
        const auto need = rate.requests / 3;
        const Instant room = room_at(window, rate, need);
        const auto fits = [&](Instant now) {
            return spent(window, rate.period, true, now) + need <= rate.requests;
        };
        EXPECT_TRUE(fits(room));
        EXPECT_TRUE(room == at(2 * length) || !fits(room - 1ms));
    }
    EXPECT_EQ(room_at({2, rate.requests, 0}, rate, rate.requests), at(4 * length));
}

TEST(RoomAt, IsTheEndOfTheNextWindowForWhatNeverFits) {
    EXPECT_EQ(room_at({2, 5, 5}, {10, 10s}, 11), at(40'000));
}

TEST(BindingWindow, IsNothingOfNothing) {
    EXPECT_EQ(binding_window({}), nullptr);
}

TEST(BindingWindow, HasTheFewestRequestsLeft) {
    const std::vector windows{window(5, 1000), window(3, 500), window(9, 9000)};
    EXPECT_EQ(binding_window(windows), &windows[1]);
}

TEST(BindingWindow, ResetsLastAmongEquals) {
    const std::vector windows{window(3, 500), window(3, 9000), window(3, 1000), window(4, 99'999)};
    EXPECT_EQ(binding_window(windows), &windows[1]);
}

TEST(BindingWindow, IsTheExhaustedOneThatResetsLast) {
    const std::vector windows{window(0, 500, true), window(2, 9000, true), window(0, 99'999),
                              window(0, 1000, true)};
    EXPECT_EQ(binding_window(windows), &windows[1]);
}

TEST(BindingWindow, IsExhaustedBeforeAnythingElse) {
    const std::vector windows{window(0, 9000), window(7, 500, true)};
    EXPECT_EQ(binding_window(windows), &windows[1]);
}

TEST(RetryAfter, IsRoundedUpAndAtLeastOne) {
    const Instant now = at(10'001);
    EXPECT_EQ(retry_after(now, now), 1);
    EXPECT_EQ(retry_after(now, at(9'000)), 1);
    EXPECT_EQ(retry_after(now, at(11'001)), 1);
    EXPECT_EQ(retry_after(now, at(11'002)), 2);
}

TEST(UnixSeconds, AreRoundedUp) {
    EXPECT_EQ(unix_seconds(at(1000)), 1);
    EXPECT_EQ(unix_seconds(at(1001)), 2);
}

/// Their memory is used again, also that of few windows after that of many.
TEST(WindowStates, KeepTheirContents) {
    const auto windows_of = [](std::size_t count) {
        WindowStates windows;
        for (std::size_t i = 0; i < count; ++i) {
            windows.push_back({{static_cast<std::int64_t>(count), 60s},
                               static_cast<std::int64_t>(i),
                               Instant(1s)});
        }
        return windows;
    };
    std::vector<WindowStates> all;
    for (std::size_t round = 0; round < 40; ++round) {
        all.push_back(windows_of(round % 7));
        all.push_back(all[round / 2]);
        all.erase(all.begin());
        for (const WindowStates& windows : all) {
            for (std::size_t i = 0; i < windows.size(); ++i) {
                ASSERT_EQ(windows[i].remaining, static_cast<std::int64_t>(i));
                ASSERT_EQ(windows[i].rate.requests, static_cast<std::int64_t>(windows.size()));
            }
        }
    }
}

}  // namespace
}  // namespace tollgate
