#include "module/core/window.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tollgate
