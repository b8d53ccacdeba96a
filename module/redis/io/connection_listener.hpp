#pragma once

#include <chrono>
#include <string_view>

#include "module/quota/redis_clock.hpp"
#include "module/redis/protocol/interface.hpp"

namespace tollgate::redis {

/// Receives the events of a connection, for the log and for statistics. A listener overrides those
/// that concern it.
class ConnectionListener : public Interface {
  public:
    /// A call was answered. `round_trip` is the time since the call was made.
    virtual void on_answer(std::chrono::microseconds /*round_trip*/) noexcept {}
    /// Redis answered a command with an error; or the connection was lost with calls pending,
    /// because Redis refused commands, or while the breaker was not closed. Called once for a lost
    /// connection, however many calls fail with it.
    virtual void on_error() noexcept {}
    /// A connection is established: the first one, or one that replaces another. Calls can be made.
    virtual void on_connected(bool /*is_first*/) noexcept {}
    /// The connection was lost or could not be established. Another attempt follows. May be called
    /// by the connection's constructor.
    virtual void on_lost() noexcept {}
    /// Redis refuses all commands with this error. The connection is replaced.
    virtual void on_refusal(std::string_view /*message*/) noexcept {}
    /// Redis accepts writes at another address than before, or for the first time.
    virtual void on_moved() noexcept {}
    /// The reply to a probe on a new connection contained Redis's time. The steady clock was at
    /// `sent` and `received` when the probe was sent and answered. The server may not be the one of
    /// the last connection.
    virtual void on_time(ExactSteadyTime /*sent*/, ExactSteadyTime /*received*/,
                         ExactInstant /*time*/) noexcept {}
    /// The breaker opened: Redis is unreachable. Calls except probes fail immediately. The reason
    /// may be text from Redis.
    virtual void on_breaker_open(std::string_view /*reason*/) noexcept {}
    /// The breaker closed: a probe was answered.
    virtual void on_breaker_close() noexcept {}
};

}  // namespace tollgate::redis
