// Numbers that another program may have stored in Redis: no arithmetic with them overflows.

#include <gtest/gtest.h>

#include "module/management/audit.hpp"
#include "module/management/ban.hpp"
#include "module/management/history_reader.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/key_usage.hpp"
#include "module/management/stored_key.hpp"
#include "module/management/stored_windows.hpp"
#include "t/unit/management/given_replies.hpp"

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;

const std::string kLargest = "9223372036854775807";
const std::string kLargestCount = "253402300799999";
const std::string kBeyond = "253402300800000";

PlanTable table_with_history() {
    PlanTable table;
    table.name = "api";
    table.plans.push_back({.name = "free", .rates = {{60, 60s}}, .sliding = true});
    table.history = std::chrono::days(30);
    return table;
}

TEST(StoredNumbers, HaveAnUpperBound) {
    EXPECT_EQ(redis::number_or_zero(kLargestCount), 253'402'300'799'999);
    EXPECT_EQ(redis::number_or_zero("-" + kLargestCount), -253'402'300'799'999);
    for (const auto& text : {kBeyond, "-" + kBeyond, kLargest, std::string("1x"), std::string()}) {
        EXPECT_EQ(redis::number_or_zero(text), 0) << text;
    }
}

TEST(StoredNumbers, OfATimeAreBounded) {
    EXPECT_EQ(time_of_reply(array_of({"1700000000", "123999"})), Instant(1'700'000'000'123ms));
    EXPECT_EQ(time_of_reply(array_of({"253402300799", "999999"})), kLatestInstant);
    for (const auto& time :
         {array_of({}), array_of({"1"}), array_of({"1", "2", "3"}), array_of({kLargest, "0"}),
          array_of({"253402300800", "0"}), array_of({"1", "1000000"}), redis::Value{}}) {
        EXPECT_THROW(time_of_reply(time), OperationError);
    }
}

TEST(StoredNumbers, OfWindowsAreBounded) {
    const auto windows =
        read_windows(array_of({"60.number", kLargest, "60.count", kLargest, "60.previous", "-1",
                               "3600.number", "7", "3600.count", "9000000000000000"}),
                     BillingDay());
    EXPECT_EQ(windows.at(60s).counted, (WindowCount{}));
    EXPECT_TRUE(windows.at(60s).sliding);
    EXPECT_EQ(windows.at(1h).counted,
              (WindowCount{.number = 7, .count = Units::kMost, .previous = 0}));
}

TEST(StoredNumbers, OfAKeyAreBounded) {
    const auto key = read_stored_key(
        "digest", array_of({"id", "k1", "created", kLargest, "expires", kBeyond}), value_of(-1));
    EXPECT_EQ(key->created, std::chrono::sys_seconds(0s));
    EXPECT_EQ(key->record.expires, std::chrono::sys_seconds(0s)) << "it does not last for ever";
}

TEST(StoredNumbers, OfAHistoryAreBounded) {
    const auto table = table_with_history();
    GivenReplies database(
        {{"HGETALL history", {value_of(201)}},
         {"HSCAN history", {page_of({"api:1", kLargestCount, "api:2", kLargest, "api:3", "5"})}},
         {"HMGET quota", {array_of({"1", "9000000000000000"})}},
         {"HMGET history", {array_of({kLargestCount})}}});
    const auto history = run_to_end(
        read_history(database, GivenReplies::keys(), "k1", CountingTables{.known = {&table}}));
    ASSERT_EQ(history.size(), 2U);
    EXPECT_EQ(history[0].units, 253'402'300'799'999 + Units::kMost);
    EXPECT_EQ(history[1].units, 5);
}

TEST(StoredNumbers, OfAUsageAreBounded) {
    const auto table = table_with_history();
    GivenReplies database(
        {{"TIME", {array_of({"253402300799", "0"})}},
         {"SMEMBERS id", {array_of({"digest"})}},
         {"HGETALL key", {array_of({"id", "k1", "plan", "free", "state", "active"})}},
         {"PTTL key", {value_of(-1)}},
         {"HGETALL quota",
          {array_of({"60.number", "4223371679", "60.count", kLargestCount, "60.previous", kLargest,
                     "1.count", "-" + kLargest})}}});
    const auto usage = run_to_end(
        read_usage(database, GivenReplies::keys(), "k1", CountingTables{.known = {&table}}));
    ASSERT_EQ(usage.windows.size(), 2U);
    for (const auto& window : usage.windows) {
        EXPECT_GE(window.used, 0);
        EXPECT_LE(window.used, 253'402'300'799'999);
        EXPECT_EQ(remaining(window), window.limit ? std::optional<std::int64_t>(0) : std::nullopt);
    }
}

TEST(StoredNumbers, OfABanAreBounded) {
    GivenReplies database(
        {{"TIME", {array_of({"1", "0"})}},
         {"HGETALL ban",
          {array_of({"until", kLargest, "since", kLargestCount, "level", kBeyond})}}});
    const auto ban = run_to_end(read_ban(database, GivenReplies::keys(), "k1"));
    EXPECT_EQ(ban.until, std::nullopt);
    EXPECT_EQ(ban.since, std::chrono::sys_seconds(253'402'300'800s));
    EXPECT_EQ(ban.level, 0);
}

TEST(StoredNumbers, OfAnAuditEntryAreBounded) {
    EXPECT_EQ((StoredEntry{.place = kLargest + "-0", .entry = {}}.time()),
              std::chrono::sys_seconds(0s));
    EXPECT_EQ((StoredEntry{.place = "1700000000123-0", .entry = {}}.time()),
              std::chrono::sys_seconds(1'700'000'000s));
}

TEST(UnexpectedReplies, AreErrorsOfTheOperation) {
    GivenReplies database(
        {{"TIME", {array_of({"now"})}}, {"XRANGE audit", {array_of({"only a place"})}}});
    const auto keys = GivenReplies::keys();
    KeyReader reader(database, keys);
    EXPECT_THROW(run_to_end(reader.now()), OperationError);
    EXPECT_THROW(run_to_end(read_audit(database, keys, {.limit = 10})), OperationError);
    // The script answers so only if a condition is not met.
    const std::vector<redis::Value> zero{value_of(0)};
    EXPECT_EQ(replies_of(zero, {.conditions = {{}}, .commands = {{"PING"}}}), std::nullopt);
    EXPECT_THROW(replies_of(zero, {.commands = {{"PING"}}}), OperationError);
}

}  // namespace
}  // namespace tollgate::management
