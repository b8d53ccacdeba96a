#pragma once

#include <cstdint>

namespace tollgate {

/// A circuit breaker for a server. Opens after two consecutive failures; calls then fail at once. A
/// successful probe closes it.
class Breaker {
  public:
    enum class State : std::uint8_t {
        kClosed,  ///< the server answers
        kTrial,   ///< one failure, or not connected yet: one more attempt
        kOpen,    ///< unreachable
    };

    State state() const { return state_; }

    /// The connection failed, or a command timed out. Returns true if this opened the breaker.
    bool fail() {
        const State before = state_;
        state_ = before == State::kClosed ? State::kTrial : State::kOpen;
        return before == State::kTrial;
    }

    /// The server answered. Returns true if this closed an open breaker.
    bool answer() {
        const State before = state_;
        state_ = State::kClosed;
        return before == State::kOpen;
    }

  private:
    State state_ = State::kTrial;
};

}  // namespace tollgate
