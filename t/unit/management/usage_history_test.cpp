#include "module/management/history_reader.hpp"

#include <gtest/gtest.h>

#include "t/unit/management/given_replies.hpp"

namespace tollgate::management {
namespace {

PlanTable table_of_api() {
    PlanTable table;
    table.name = "api";
    table.history = std::chrono::days(30);
    return table;
}

UsageHistory history_in(GivenReplies::Given given) {
    const auto table = table_of_api();
    GivenReplies database(std::move(given));
    return run_to_end(
        read_history(database, GivenReplies::keys(), "k1", CountingTables{.known = {&table}}));
}

std::vector<std::pair<int, std::int64_t>> units_of(const UsageHistory& history) {
    std::vector<std::pair<int, std::int64_t>> units;
    for (const auto& day : history) {
        units.emplace_back(day.day.time_since_epoch().count(), day.units);
    }
    return units;
}

using Units = std::vector<std::pair<int, std::int64_t>>;

TEST(UsageHistoryTest, IsReadInPages) {
    auto first = page_of({"api:1", "5", "api:2", "6"});
    first.elements.front().text = "7";
    // Redis may return a field twice.
    const auto history =
        history_in({{"HGETALL history", {value_of(201)}},
                    {"HSCAN history", {first, page_of({"api:2", "6", "api:3", "8"})}}});
    EXPECT_EQ(units_of(history), (Units{{1, 5}, {2, 6}, {3, 8}}));
}

TEST(UsageHistoryTest, HasADayThatIsMovedMeanwhile) {
    const auto history = history_in(
        {{"HGETALL history", {value_of(201)}},
         {"HMGET quota", {array_of({"8", "3"}), array_of({"8", "3"}), array_of({"9", "1"})}},
         {"HSCAN history", {page_of({"api:7", "5"})}},
         {"HMGET history", {array_of({"3"})}}});
    EXPECT_EQ(units_of(history), (Units{{7, 5}, {8, 3}, {9, 1}}));
}

TEST(UsageHistoryTest, HasADayOnceIfThePageHasItAlready) {
    const auto history = history_in(
        {{"HGETALL history", {value_of(201)}},
         {"HMGET quota", {array_of({"8", "3"}), array_of({"8", "3"}), array_of({"9", "1"})}},
         {"HSCAN history", {page_of({"api:8", "3"})}},
         {"HMGET history", {array_of({"3"})}}});
    EXPECT_EQ(units_of(history), (Units{{8, 3}, {9, 1}}));
}

TEST(UsageHistoryTest, OfFewDaysIsReadAtOnce) {
    const auto history = history_in(
        {{"HMGET quota", {array_of({"9", "1"})}}, {"HGETALL history", {array_of({"api:8", "3"})}}});
    EXPECT_EQ(units_of(history), (Units{{8, 3}, {9, 1}}));
}

/// The last day of a table whose `history` was removed is still in its quota.
TEST(UsageHistoryTest, HasTheOpenDayOfATableThatKeepsNoHistoryAnyMore) {
    PlanTable table;
    table.name = "api";
    const auto history_of = [&](const std::string& days_of) {
        GivenReplies database({{"HMGET quota", {array_of({"8", "3"})}},
                               {"HGETALL history", {array_of({days_of + ":7", "5"})}}});
        return units_of(run_to_end(
            read_history(database, GivenReplies::keys(), "k1", CountingTables{.known = {&table}})));
    };
    EXPECT_EQ(history_of("api"), (Units{{7, 5}, {8, 3}}));
    EXPECT_EQ(history_of("other"), (Units{{7, 5}})) << "it never kept one";
}

TEST(UsageHistoryTest, HasTheOpenDayWithoutEarlierOnes) {
    EXPECT_EQ(units_of(history_in({{"HMGET quota", {array_of({"8", "3"})}}})), (Units{{8, 3}}));
}

TEST(UsageHistoryTest, EndsIfRedisDoesNotEndItsPages) {
    auto page = page_of({"api:1", "5"});
    page.elements.front().text = "7";
    EXPECT_THROW(history_in({{"HGETALL history", {value_of(201)}}, {"HSCAN history", {page}}}),
                 OperationError);
}

}  // namespace
}  // namespace tollgate::management
