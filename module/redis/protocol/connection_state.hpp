#pragma once

#include <cstdint>

namespace tollgate::redis {

/// The state of a Connection. Only the events below change it. An event that does not belong to the
/// state changes nothing.
class ConnectionState {
  public:
    enum class State : std::uint8_t {
        kNew,       ///< no link was ready yet
        kLost,      ///< the link is down, or connects again
        kProbing,   ///< calls are held until the probe is answered
        kSending,   ///< calls are sent
        kLeaving,   ///< calls are held for the successor until those on the link are answered
        kRefused,   ///< the link is being closed: Redis refuses commands
        kReadOnly,  ///< the link is being closed: READONLY; another server may accept commands
    };

    State state() const noexcept { return state_; }
    /// Whether the link is ready, or is being closed.
    bool is_connected() const noexcept { return !is(State::kNew) && !is(State::kLost); }
    bool is_refused() const noexcept { return is(State::kRefused) || is(State::kReadOnly); }
    /// Whether the successor may be used as soon as no call is on the link.
    bool may_move() const noexcept { return is(State::kLeaving) || is(State::kLost); }

    /// The link is ready.
    void on_ready(bool holds_calls) noexcept {
        if (!is_connected()) {
            state_ = holds_calls ? State::kProbing : State::kSending;
        }
    }
    /// Redis accepts writes.
    void on_accepted() noexcept { change(State::kProbing, State::kSending); }
    /// Redis refuses commands. Returns whether this is new.
    bool on_refused(bool is_readonly) noexcept {
        if (!is_connected() || is_refused()) {
            return false;
        }
        state_ = is_readonly ? State::kReadOnly : State::kRefused;
        return true;
    }
    /// The successor is usable now, or no longer.
    void on_successor(bool is_usable) noexcept {
        if (is_usable) {
            change(State::kSending, State::kLeaving);
        } else {
            change(State::kLeaving, State::kSending);
        }
    }
    /// The successor's link is used from now on.
    void on_moved() noexcept {
        if (may_move()) {
            state_ = State::kSending;
        }
    }
    /// The link is lost, or did not connect.
    void on_lost() noexcept {
        if (is_connected()) {
            state_ = State::kLost;
        }
    }

  private:
    bool is(State state) const noexcept { return state_ == state; }
    void change(State from, State to) noexcept {
        if (is(from)) {
            state_ = to;
        }
    }

    State state_ = State::kNew;
};

}  // namespace tollgate::redis
