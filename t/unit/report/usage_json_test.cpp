#include "module/report/usage_json.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tollgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Rate kPerMinute{60, seconds(60)};
constexpr Rate kPerDay{1000, seconds(86400)};

WindowState window(const Rate& rate, std::int64_t remaining, std::int64_t reset_ms, bool exhausted,
                   const char* policy) {
    WindowState state{rate, remaining, Instant(milliseconds(reset_ms)), exhausted};
    state.policy = policy;
    return state;
}

TableQuota quota(const char* table, std::vector<Rate> rates) {
    TableQuota quota;
    quota.table = table;
    quota.rates = std::move(rates);
    return quota;
}

TEST(UsageJson, ShowsEveryWindowOfEveryTable) {
    const std::vector quotas{quota("api", {kPerMinute, kPerDay}), quota("search", {kPerMinute})};
    const std::vector windows{window(kPerMinute, 48, 60'000, false, "api-free-minute"),
                              window(kPerDay, 0, 86'400'000, false, "api-free-day"),
                              window(kPerMinute, 3, 59'001, true, "search-free-minute")};
    EXPECT_EQ(
        usage_json({"k1", "free", Verdict::kGranted, quotas, windows}),
        R"({"id":"k1","plan":"free","verdict":"granted","windows":[)"
        R"({"table":"api","policy":"api-free-minute","unit":"requests","limit":60,"period":60,"remaining":48,)"
        R"("reset":60,"exhausted":false},)"
        R"({"table":"api","policy":"api-free-day","unit":"requests","limit":1000,"period":86400,"remaining":0,)"
        R"("reset":86400,"exhausted":true},)"
        R"({"table":"search","policy":"search-free-minute","unit":"requests","limit":60,"period":60,"remaining":3,)"
        R"("reset":60,"exhausted":true}]})");
}

TEST(UsageJson, HasTheLengthOfTheMonth) {
    const Rate month{1000, Period::month()};
    const std::vector quotas{quota("api", {month})};
    const std::vector windows{window(month, 1, 28 * 86'400'000LL + 31 * 86'400'000LL, false, "m")};
    EXPECT_EQ(
        usage_json({"k1", "free", Verdict::kGranted, quotas, windows}),
        R"({"id":"k1","plan":"free","verdict":"granted","windows":[)"
        R"({"table":"api","policy":"m","unit":"requests","limit":1000,"period":2419200,"remaining":1,)"
        R"("reset":5097600,"exhausted":false}]})");
}

TEST(UsageJson, LeavesOutTheDayOfAHistory) {
    const Rate counted{kNoLimit, seconds(86400)};
    const std::vector quotas{quota("all", {counted}), quota("api", {kPerMinute, counted}),
                             quota("search", {kPerMinute})};
    const std::vector windows{window(kPerMinute, 48, 60'000, false, "api-free-minute"),
                              window(kPerMinute, 3, 59'001, true, "search-free-minute")};
    const auto json = usage_json({"k1", "free", Verdict::kGranted, quotas, windows});
    EXPECT_NE(json.find(R"({"table":"api","policy":"api-free-minute")"), std::string::npos) << json;
    EXPECT_NE(json.find(R"({"table":"search","policy":"search-free-minute")"), std::string::npos);
}

TEST(UsageJson, HasNoWindowsForAnUnlimitedPlan) {
    EXPECT_EQ(usage_json({"k1", "all", Verdict::kGranted, {}, {}}),
              R"({"id":"k1","plan":"all","verdict":"granted","windows":[]})");
}

TEST(UsageJson, HasNullWhereThereIsNoKey) {
    EXPECT_EQ(usage_json({}), R"({"id":null,"plan":null,"verdict":"-","windows":[]})");
}

TEST(UsageJson, NamesNoTableForTheWindowsOfAnAddress) {
    const std::vector windows{window(kPerMinute, 9, 60'000, false, "anonymous-minute")};
    EXPECT_EQ(
        usage_json({"", "", Verdict::kUnauthenticated, {}, windows}),
        R"({"id":null,"plan":null,"verdict":"unauthenticated","windows":[)"
        R"({"table":null,"policy":"anonymous-minute","unit":"requests","limit":60,"period":60,)"
        R"("remaining":9,"reset":60,"exhausted":false}]})");
}

TEST(UsageJson, EscapesWhatRedisHolds) {
    EXPECT_EQ(usage_json({"a\"b", "\xff\n", Verdict::kDegraded, {}, {}}),
              "{\"id\":\"a\\\"b\",\"plan\":\"\xef\xbf\xbd\\n\",\"verdict\":\"degraded\","
              "\"windows\":[]}");
}

}  // namespace
}  // namespace tollgate
