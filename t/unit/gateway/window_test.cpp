#include "module/core/window.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

TEST(RetryAfter, IsRoundedUpAndAtLeastOne) {
    const Instant now(std::chrono::milliseconds(10'001));
    EXPECT_EQ(retry_after(now, now), 1);
    EXPECT_EQ(retry_after(now, Instant(std::chrono::milliseconds(9'000))), 1);
    EXPECT_EQ(retry_after(now, Instant(std::chrono::milliseconds(11'001))), 1);
    EXPECT_EQ(retry_after(now, Instant(std::chrono::milliseconds(11'002))), 2);
}

}  // namespace
}  // namespace tollgate
