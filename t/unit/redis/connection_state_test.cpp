#include "module/redis/protocol/connection_state.hpp"

#include <gtest/gtest.h>

namespace tollgate::redis {
namespace {

using State = ConnectionState::State;

/// A connection whose calls are sent.
ConnectionState sending() {
    ConnectionState state;
    state.on_ready(false);
    return state;
}

TEST(ConnectionState, HoldsCallsUntilAWriteIsAccepted) {
    ConnectionState state;
    state.on_ready(true);
    EXPECT_EQ(state.state(), State::kProbing);
    state.on_successor(true);
    EXPECT_EQ(state.state(), State::kProbing) << "the probe is on the link";
    state.on_accepted();
    EXPECT_EQ(state.state(), State::kSending);
}

TEST(ConnectionState, IsNewUntilALinkIsReady) {
    ConnectionState state;
    state.on_lost();
    state.on_accepted();
    state.on_successor(true);
    state.on_moved();
    EXPECT_FALSE(state.on_refused(true));
    EXPECT_EQ(state.state(), State::kNew);
    state = sending();
    state.on_lost();
    EXPECT_EQ(state.state(), State::kLost);
    EXPECT_FALSE(state.is_connected());
}

TEST(ConnectionState, IsRefusedOnce) {
    ConnectionState state = sending();
    EXPECT_TRUE(state.on_refused(true));
    EXPECT_FALSE(state.on_refused(false));
    state.on_accepted();
    state.on_successor(true);
    state.on_ready(false);
    EXPECT_EQ(state.state(), State::kReadOnly);
    EXPECT_TRUE(state.is_refused());
    EXPECT_TRUE(state.is_connected());
    state.on_lost();
    EXPECT_EQ(state.state(), State::kLost);
    EXPECT_FALSE(state.is_refused());
}

TEST(ConnectionState, LeavesForASuccessorWhileThatIsUsable) {
    ConnectionState state = sending();
    EXPECT_FALSE(state.may_move());
    state.on_successor(true);
    EXPECT_EQ(state.state(), State::kLeaving);
    EXPECT_TRUE(state.may_move());
    state.on_successor(false);
    EXPECT_EQ(state.state(), State::kSending);
    state.on_successor(true);
    state.on_moved();
    EXPECT_EQ(state.state(), State::kSending);
}

TEST(ConnectionState, MovesFromALostLink) {
    ConnectionState state = sending();
    state.on_successor(true);
    EXPECT_TRUE(state.on_refused(false));
    EXPECT_FALSE(state.may_move());
    state.on_lost();
    EXPECT_TRUE(state.may_move());
    state.on_moved();
    EXPECT_EQ(state.state(), State::kSending);
}

}  // namespace
}  // namespace tollgate::redis
