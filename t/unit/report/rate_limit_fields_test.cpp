#include "module/report/rate_limit_fields.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

const Instant kTimeOfFields(100s);
const std::vector<WindowState> kWindows{
    {{60, 60s}, 12, kTimeOfFields + 37s, false, "api", "free-minute"},
    {{1000, 86400s}, 0, kTimeOfFields + 3600s, true, "api", "free-day"},
};

TEST(RateLimitPolicy, NamesEveryWindow) {
    EXPECT_EQ(rate_limit_policy_field(kWindows, {}),
              R"("free-minute";q=60;w=60, "free-day";q=1000;w=86400)");
    EXPECT_EQ(rate_limit_policy_field({}, {}), "");
}

TEST(RateLimitPolicy, HasTheLengthOfTheMonth) {
    using std::chrono::sys_days;
    const std::vector<WindowState> february{
        {{10'000, Period::month()}, 3, sys_days(2024y / 3 / 1), false, "api", "free-month"}};
    EXPECT_EQ(rate_limit_policy_field(february, {}), R"("free-month";q=10000;w=2505600)");
    const std::vector<WindowState> march{
        {{10'000, Period::month()}, 3, sys_days(2024y / 4 / 1), false, "api", "free-month"}};
    EXPECT_EQ(rate_limit_policy_field(march, {}), R"("free-month";q=10000;w=2678400)");
}

TEST(RateLimitPolicy, HasTheUnitUnlessItIsRequests) {
    const std::vector<WindowState> windows{
        {{60, 60s}, 12, kTimeOfFields + 37s, false, "api", "free-minute", "requests"},
        {{1000, 86400s}, 0, kTimeOfFields + 3600s, true, "api", "files-day", "content-bytes"}};
    const std::vector<FlightState> flights{{"api", "free-in-flight", 20, 7}};
    EXPECT_EQ(rate_limit_policy_field(windows, flights),
              R"("free-minute";q=60;w=60, "files-day";q=1000;qu="content-bytes";w=86400, )"
              R"("free-in-flight";q=20;qu="concurrent-requests")");
}

TEST(RateLimit, HasThePlacesThatAreLeft) {
    EXPECT_EQ(rate_limit_field({}, {{{"api", "free-in-flight", 20, 7}}}, kTimeOfFields),
              R"("free-in-flight";r=13)");
    EXPECT_EQ(rate_limit_field({}, {{{"api", "free-in-flight", 20, 21}}}, kTimeOfFields),
              R"("free-in-flight";r=0)");
}

TEST(RateLimit, TellsWhatIsLeftAndHowLong) {
    EXPECT_EQ(rate_limit_field(kWindows, {}, kTimeOfFields),
              R"("free-minute";r=12;t=37, "free-day";r=0;t=3600)");
}

TEST(RateLimit, RoundsTheRestUpAndNeverBelowZero) {
    EXPECT_EQ(rate_limit_field({{{{1, 1s}, 1, kTimeOfFields + 1ms, false, "api", "p"}}}, {},
                               kTimeOfFields),
              R"("p";r=1;t=1)");
    EXPECT_EQ(rate_limit_field({{{{1, 1s}, 1, kTimeOfFields - 5s, false, "api", "p"}}}, {},
                               kTimeOfFields),
              R"("p";r=1;t=0)");
}

}  // namespace
}  // namespace tollgate
