#pragma once

#include <cstdint>

namespace tollgate {

/// A circuit breaker for a server. Opens after two consecutive failures; calls then fail at once. A
/// successful probe closes it.
class Breaker {
  public:
    enum class State : std::uint8_t {
        kClosed,    ///< the server answers
        kHalfOpen,  ///< one failure, or not connected yet: the next attempt decides
        kOpen,      ///< the server is unreachable
    };

    State state() const { return state_; }

    /// The connection failed, or a command timed out. Returns true if this opened the breaker.
    bool record_failure() {
        const State before = state_;
        state_ = before == State::kClosed ? State::kHalfOpen : State::kOpen;
        return before == State::kHalfOpen;
    }

    /// The server answered. Returns true if this closed an open breaker.
    bool record_success() {
        const State before = state_;
        state_ = State::kClosed;
        return before == State::kOpen;
    }

  private:
    State state_ = State::kHalfOpen;
};

}  // namespace tollgate
