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
                   const char* table, const char* policy) {
    WindowState state{rate, remaining, Instant(milliseconds(reset_ms)), exhausted};
    state.table = table;
    state.policy = policy;
    return state;
}

TEST(UsageJson, ShowsEveryWindowOfEveryTable) {
    const std::vector windows{window(kPerMinute, 48, 60'000, false, "api", "api-free-minute"),
                              window(kPerDay, 0, 86'400'000, false, "api", "api-free-day"),
                              window(kPerMinute, 3, 59'001, true, "search", "search-free-minute")};
    EXPECT_EQ(
        usage_json({"k1", "free", Verdict::kGranted, windows}),
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
    const std::vector windows{
        window(month, 1, 28 * 86'400'000LL + 31 * 86'400'000LL, false, "api", "m")};
    EXPECT_EQ(
        usage_json({"k1", "free", Verdict::kGranted, windows}),
        R"({"id":"k1","plan":"free","verdict":"granted","windows":[)"
        R"({"table":"api","policy":"m","unit":"requests","limit":1000,"period":2419200,"remaining":1,)"
        R"("reset":5097600,"exhausted":false}]})");
}

TEST(UsageJson, HasNoWindowsForAnUnlimitedPlan) {
    EXPECT_EQ(usage_json({"k1", "all", Verdict::kGranted, {}}),
              R"({"id":"k1","plan":"all","verdict":"granted","windows":[]})");
}

TEST(UsageJson, HasNullWhereThereIsNoKey) {
    EXPECT_EQ(usage_json({}), R"({"id":null,"plan":null,"verdict":"-","windows":[]})");
}

TEST(UsageJson, NamesNoTableForTheWindowsOfAnAddress) {
    const std::vector windows{window(kPerMinute, 9, 60'000, false, "api", "anonymous-minute")};
    EXPECT_EQ(
        usage_json({"", "", Verdict::kUnauthenticated, windows}),
        R"({"id":null,"plan":null,"verdict":"unauthenticated","windows":[)"
        R"({"table":null,"policy":"anonymous-minute","unit":"requests","limit":60,"period":60,)"
        R"("remaining":9,"reset":60,"exhausted":false}]})");
}

TEST(UsageJson, EscapesWhatRedisHolds) {
    EXPECT_EQ(usage_json({"a\"b", "\xff\n", Verdict::kDegraded, {}}),
              "{\"id\":\"a\\\"b\",\"plan\":\"\xef\xbf\xbd\\n\",\"verdict\":\"degraded\","
              "\"windows\":[]}");
}

}  // namespace
}  // namespace tollgate
