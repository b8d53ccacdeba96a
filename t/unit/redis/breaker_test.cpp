#include "module/redis/protocol/breaker.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using State = Breaker::State;

TEST(Breaker, GivesAServerThatNeverAnsweredOneTrial) {
    Breaker breaker;
    EXPECT_EQ(breaker.state(), State::kHalfOpen);
    EXPECT_TRUE(breaker.record_failure());
    EXPECT_EQ(breaker.state(), State::kOpen);
}

TEST(Breaker, GivesAServerThatAnsweredAnotherTrial) {
    Breaker breaker;
    EXPECT_FALSE(breaker.record_success());
    EXPECT_EQ(breaker.state(), State::kClosed);
    EXPECT_FALSE(breaker.record_failure());
    EXPECT_EQ(breaker.state(), State::kHalfOpen);
    EXPECT_FALSE(breaker.record_success());
    EXPECT_EQ(breaker.state(), State::kClosed);
}

TEST(Breaker, OpensAndClosesOnce) {
    Breaker breaker;
    breaker.record_success();
    breaker.record_failure();
    EXPECT_TRUE(breaker.record_failure());
    EXPECT_FALSE(breaker.record_failure());
    EXPECT_EQ(breaker.state(), State::kOpen);
    EXPECT_TRUE(breaker.record_success());
    EXPECT_FALSE(breaker.record_success());
    EXPECT_EQ(breaker.state(), State::kClosed);
}

}  // namespace
}  // namespace tollgate
