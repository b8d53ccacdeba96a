#pragma once

#include <cstdint>

namespace tollgate {

/// A circuit breaker before a server: who needs it waits for it as long as it may well answer, and
/// is refused at once where it didn't twice. Open, it closes with the first answer to a probe.
class Breaker {
  public:
    enum class State : std::uint8_t {
        kClosed,  ///< the server answers
        kTrial,   ///< its connection was lost, or was never made: this attempt may mend that
        kOpen,    ///< out of reach
    };

    State state() const { return state_; }

    /// The connection failed, or a command's time ran out. True where that opened the breaker.
    bool fail() {
        const State before = state_;
        state_ = before == State::kClosed ? State::kTrial : State::kOpen;
        return before == State::kTrial;
    }

    /// The server answered. True where that closed a breaker which was open.
    bool answer() {
        const State before = state_;
        state_ = State::kClosed;
        return before == State::kOpen;
    }

  private:
    State state_ = State::kTrial;
};

}  // namespace tollgate
