#include "module/zone/address_budgets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

const std::vector<Rate> kRates{{3, 10s}, {5, 60s}};

class AddressBudgetsTest : public testing::Test {
  protected:
    static AddressBudgets::Owner owner(std::uint32_t address, std::uint32_t table = 1) {
        ClientAddress client{4, {}};
        for (unsigned i = 0; i < 4; ++i) {
            client.prefix[i] = static_cast<unsigned char>(address >> 8 * i);
        }
        return {table, client};
    }

    bool grants(const AddressBudgets::Owner& who, Instant now) {
        return std::ranges::none_of(budgets_.charge(who, kRates, 1, now), &WindowState::exhausted);
    }

    alignas(std::max_align_t) std::array<std::byte, 1 << 20> memory_{};  // zeroed: an empty table
    AddressBudgets budgets_{memory_};
};

TEST_F(AddressBudgetsTest, TakesFromEveryWindow) {
    const auto states = budgets_.charge(owner(1), kRates, 1, Instant(61s));
    ASSERT_EQ(states.size(), 2);
    EXPECT_EQ(states[0].remaining, 2);
    EXPECT_EQ(states[0].reset, Instant(70s));
    EXPECT_EQ(states[1].remaining, 4);
    EXPECT_EQ(states[1].reset, Instant(120s));
}

TEST_F(AddressBudgetsTest, TakesFromNoneIfOneIsExhausted) {
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(grants(owner(1), Instant(0s)));
    }
    const auto states = budgets_.charge(owner(1), kRates, 1, Instant(0s));
    EXPECT_TRUE(states[0].exhausted);
    EXPECT_EQ(states[0].remaining, 0);
    EXPECT_FALSE(states[1].exhausted);
    EXPECT_EQ(states[1].remaining, 2);
    EXPECT_TRUE(grants(owner(1), Instant(10s)));
    EXPECT_TRUE(grants(owner(1), Instant(19s)));
    EXPECT_FALSE(grants(owner(1), Instant(20s))) << "the minute is spent";
    EXPECT_TRUE(grants(owner(1), Instant(60s)));
}

TEST_F(AddressBudgetsTest, ReadsWithoutACharge) {
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(budgets_.charge(owner(1), kRates, 0, Instant(0s))[0].remaining, 3);
    }
    EXPECT_TRUE(std::ranges::all_of(memory_, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(AddressBudgetsTest, KeepsOwnersApart) {
    for (int i = 0; i < 3; ++i) {
        grants(owner(1), Instant(0s));
    }
    EXPECT_FALSE(grants(owner(1), Instant(0s)));
    EXPECT_TRUE(grants(owner(2), Instant(0s)));
    EXPECT_TRUE(grants(owner(1, 2), Instant(0s)));
}

TEST_F(AddressBudgetsTest, LimitsLookUpsOfAnOwnerThatHasSpentItsBudget) {
    const auto admitted = [&](Instant now, int times) {
        int number = 0;
        for (int i = 0; i < times; ++i) {
            number += budgets_.admits_lookup(owner(1), kRates, now) ? 1 : 0;
        }
        return number;
    };
    EXPECT_EQ(admitted(Instant(0s), 100), 100) << "an owner that is not known";
    grants(owner(1), Instant(0s));
    grants(owner(1), Instant(0s));
    EXPECT_EQ(admitted(Instant(0s), 100), 100) << "one unit is left";
    grants(owner(1), Instant(0s));
    EXPECT_EQ(admitted(Instant(0s), 100), 10);
    EXPECT_EQ(admitted(Instant(999ms), 100), 0) << "the same second";
    EXPECT_EQ(admitted(Instant(1s), 4), 4) << "the next one";
    EXPECT_FALSE(grants(owner(1), Instant(1500ms))) << "a refusal keeps the count";
    EXPECT_EQ(admitted(Instant(1999ms), 100), 6);
    EXPECT_TRUE(budgets_.admits_lookup(owner(2), kRates, Instant(1s))) << "another owner";
    EXPECT_EQ(admitted(Instant(10s), 100), 100) << "a new window";
    grants(owner(1), Instant(10s));
    EXPECT_EQ(budgets_.charge(owner(1), kRates, 0, Instant(10s))[0].remaining, 2)
        << "look-ups take nothing from the budget";
}

TEST_F(AddressBudgetsTest, LimitsLookUpsThatFindNothingWithoutABudget) {
    const auto one = AddressBudgets::without_budget({4, {1}});
    const auto admitted = [&](Instant now, int times) {
        int number = 0;
        for (int i = 0; i < times; ++i) {
            number += budgets_.admits_lookup(one, now) ? 1 : 0;
        }
        return number;
    };
    const auto fail = [&](Instant now, int times) {
        for (int i = 0; i < times; ++i) {
            budgets_.note_unknown(one, now);
        }
    };
    EXPECT_EQ(admitted(Instant(100s), 100), 100) << "an owner that is not known";
    fail(Instant(100s), 9);
    EXPECT_EQ(admitted(Instant(100s), 100), 100) << "nine have found nothing";
    EXPECT_EQ(admitted(Instant(101s), 100), 100);
    fail(Instant(101s), 10);
    EXPECT_EQ(admitted(Instant(101'900ms), 100), 0) << "a flood";
    EXPECT_EQ(admitted(Instant(102s), 4), 4);
    fail(Instant(102s), 4);
    EXPECT_EQ(admitted(Instant(102s), 100), 6) << "ten in the next second";
    EXPECT_EQ(admitted(Instant(103s), 100), 10) << "also if fewer have found nothing in the last";
    EXPECT_EQ(admitted(Instant(111s), 100), 10);
    EXPECT_EQ(admitted(Instant(112s), 100), 100) << "it has ended long ago";
    EXPECT_TRUE(budgets_.admits_lookup(AddressBudgets::without_budget({4, {2}}), Instant(101s)))
        << "another owner";
}

TEST_F(AddressBudgetsTest, KeepsTheWindowThatHasBegunIfAWorkerIsLate) {
    for (const Instant now : {Instant(60s), Instant(59'999ms), Instant(60s)}) {
        EXPECT_TRUE(grants(owner(1), now));
    }
    EXPECT_FALSE(grants(owner(1), Instant(59'001ms)));
    EXPECT_FALSE(grants(owner(1), Instant(60s)));
    EXPECT_EQ(budgets_.charge(owner(1), kRates, 0, Instant(59'500ms))[0].reset, Instant(70s));
    int lookups = 0;
    for (int i = 0; i < 40; ++i) {
        lookups += budgets_.admits_lookup(owner(1), kRates, Instant(i % 2 == 0 ? 60s : 59'999ms));
    }
    EXPECT_EQ(lookups, 10);
    const auto charge = budgets_.take_charge(owner(1), kRates, Instant(59'999ms), 0ms);
    ASSERT_TRUE(charge);
    ASSERT_EQ(charge->size(), 2);
    EXPECT_EQ(charge->front().number, 6);
    EXPECT_EQ(charge->front().units, 3) << "none is dropped";
    EXPECT_TRUE(grants(owner(1), Instant(58s))) << "the clock was set back";
}

TEST_F(AddressBudgetsTest, KeepsCountsWhenTheRatesChange) {
    grants(owner(1), Instant(0s));
    const std::vector<Rate> changed{{10, 60s}, {20, 3600s}};
    const auto states = budgets_.charge(owner(1), changed, 1, Instant(0s));
    EXPECT_EQ(states[0].remaining, 8) << "of the period that both have";
    EXPECT_EQ(states[1].remaining, 19);
}

TEST_F(AddressBudgetsTest, CountsAMonth) {
    const std::vector<Rate> month{{2, Period::month()}};
    const Instant end = std::chrono::sys_days(2024y / 3 / 1);
    budgets_.charge(owner(1), month, 1, end - 29 * 24h);
    EXPECT_EQ(budgets_.charge(owner(1), month, 1, end - 1ms).front().remaining, 0);
    EXPECT_TRUE(budgets_.charge(owner(1), month, 1, end - 1ms).front().exhausted);
    const auto march = budgets_.charge(owner(1), month, 1, end);
    EXPECT_EQ(march.front().remaining, 1);
    EXPECT_EQ(march.front().reset, end + 31 * 24h);
}

TEST_F(AddressBudgetsTest, NeverGrantsMoreThanTheRates) {
    std::minstd_rand random(1);
    std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, std::int64_t> granted;
    Instant now(1000s);
    for (int i = 0; i < 50'000; ++i) {
        now += std::chrono::milliseconds(random() % 20);
        const std::uint32_t address = random() % 50;
        bool expected = true;
        for (const Rate& rate : kRates) {
            const auto number = window_number(now, rate.period);
            expected &= granted[{address, rate.period.code(), number}] < rate.requests;
        }
        ASSERT_EQ(grants(owner(address), now), expected);
        for (const Rate& rate : kRates) {
            granted[{address, rate.period.code(), window_number(now, rate.period)}] += expected;
        }
    }
}

TEST(AddressBudgets, EvictsTheLeastRecentlyUsed) {
    // One set of eight places: the ninth owner replaces the first.
    alignas(std::max_align_t) std::array<std::byte, 1024> memory{};
    AddressBudgets budgets(memory);
    const std::vector<Rate> once{{1, 3600s}};
    const auto spend = [&](std::uint32_t n, std::int64_t second) {
        const auto states = budgets.charge({n, {}}, once, 1, Instant(std::chrono::seconds(second)));
        return !states[0].exhausted;
    };
    for (std::uint32_t n = 1; n <= 8; ++n) {
        EXPECT_TRUE(spend(n, n));
    }
    EXPECT_FALSE(spend(1, 9)) << "refused, but seen";
    EXPECT_TRUE(spend(9, 10)) << "takes the place of the second";
    EXPECT_FALSE(spend(1, 11));
    EXPECT_TRUE(spend(2, 12));
}

TEST(NameId, IsTheSameInEveryProcess) {
    EXPECT_EQ(name_hash("123456789"), 0xcbf43926);
    EXPECT_NE(name_hash("api"), name_hash("search"));
}

TEST_F(AddressBudgetsTest, ChargesAreTakenOnceAndNotTooOften) {
    const auto take = [&](Instant now) { return budgets_.take_charge(owner(1), kRates, now, 1s); };
    EXPECT_TRUE(take(Instant(65s))->empty()) << "there is no such budget";
    grants(owner(1), Instant(65s));
    grants(owner(1), Instant(65s));
    const auto charge = take(Instant(65s));
    ASSERT_TRUE(charge);
    EXPECT_EQ(*charge, (AddressBudgets::Charge{{6, 2}, {1, 2}}));
    EXPECT_TRUE(take(Instant(65s))->empty());
    grants(owner(1), Instant(65s));
    EXPECT_FALSE(grants(owner(1), Instant(65s)));
    EXPECT_FALSE(take(Instant(65'999ms)));
    EXPECT_EQ(*take(Instant(66s)), (AddressBudgets::Charge{{6, 1}, {1, 1}}))
        << "the refused one was not charged";
}

TEST_F(AddressBudgetsTest, ChargesCountInTheWindowsInWhichTheyWereMade) {
    grants(owner(1), Instant(69s));
    grants(owner(1), Instant(69s));
    grants(owner(1), Instant(70s));
    EXPECT_EQ(*budgets_.take_charge(owner(1), kRates, Instant(70s), 1s),
              (AddressBudgets::Charge{{7, 1}, {1, 3}}));
    grants(owner(1), Instant(71s));
    EXPECT_EQ(*budgets_.take_charge(owner(1), kRates, Instant(80s), 1s),
              (AddressBudgets::Charge{{8, 0}, {1, 1}}))
        << "the short window has ended without another charge";
    grants(owner(1), Instant(81s));
    EXPECT_TRUE(budgets_.take_charge(owner(1), kRates, Instant(120s), 1s)->empty())
        << "both have ended";
}

TEST_F(AddressBudgetsTest, TotalsOfAllNodesLimitTheBudget) {
    grants(owner(1), Instant(65s));
    const auto charge = *budgets_.take_charge(owner(1), kRates, Instant(65s), 1s);
    grants(owner(1), Instant(65s));
    const std::vector<std::int64_t> totals{2, AddressBudgets::kNotCounted};
    budgets_.set_totals(owner(1), kRates, charge, totals);
    const auto states = budgets_.charge(owner(1), kRates, 0, Instant(65s));
    EXPECT_EQ(states[0].remaining, 0) << "two of all nodes, and one that they do not know";
    EXPECT_EQ(states[1].remaining, 3);
}

TEST_F(AddressBudgetsTest, TotalsOfAWindowThatHasEndedChangeNothing) {
    grants(owner(1), Instant(65s));
    const auto charge = *budgets_.take_charge(owner(1), kRates, Instant(65s), 1s);
    grants(owner(1), Instant(70s));
    budgets_.set_totals(owner(1), kRates, charge, std::vector<std::int64_t>{3, 3});
    const auto states = budgets_.charge(owner(1), kRates, 0, Instant(70s));
    EXPECT_EQ(states[0].remaining, 2);
    EXPECT_EQ(states[1].remaining, 1) << "three of all nodes, and one that they do not know";
    budgets_.set_totals(owner(2), kRates, charge, std::vector<std::int64_t>{3, 3});
    EXPECT_EQ(budgets_.charge(owner(2), kRates, 0, Instant(70s))[0].remaining, 3);
}

TEST_F(AddressBudgetsTest, TotalsNeverGiveUnitsBack) {
    grants(owner(1), Instant(65s));
    grants(owner(1), Instant(65s));
    const auto charge = *budgets_.take_charge(owner(1), kRates, Instant(65s), 1s);
    budgets_.set_totals(owner(1), kRates, charge, std::vector<std::int64_t>{0, 0});
    EXPECT_EQ(budgets_.charge(owner(1), kRates, 0, Instant(65s))[0].remaining, 1);
}

}  // namespace
}  // namespace tollgate
