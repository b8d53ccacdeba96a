#include "module/redis/protocol/breaker.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using State = Breaker::State;

TEST(Breaker, GivesAServerThatNeverAnsweredOneTrial) {
    Breaker breaker;
    EXPECT_EQ(breaker.state(), State::kTrial);
    EXPECT_TRUE(breaker.fail());
    EXPECT_EQ(breaker.state(), State::kOpen);
}

TEST(Breaker, GivesAServerThatAnsweredAnotherTrial) {
    Breaker breaker;
    EXPECT_FALSE(breaker.answer());
    EXPECT_EQ(breaker.state(), State::kClosed);
    EXPECT_FALSE(breaker.fail());
    EXPECT_EQ(breaker.state(), State::kTrial);
    EXPECT_FALSE(breaker.answer());
    EXPECT_EQ(breaker.state(), State::kClosed);
}

TEST(Breaker, OpensAndClosesOnce) {
    Breaker breaker;
    breaker.answer();
    breaker.fail();
    EXPECT_TRUE(breaker.fail());
    EXPECT_FALSE(breaker.fail());
    EXPECT_EQ(breaker.state(), State::kOpen);
    EXPECT_TRUE(breaker.answer());
    EXPECT_FALSE(breaker.answer());
    EXPECT_EQ(breaker.state(), State::kClosed);
}

}  // namespace
}  // namespace tollgate
