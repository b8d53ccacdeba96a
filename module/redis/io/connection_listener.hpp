#pragma once

#include <chrono>
#include <string_view>

#include "module/quota/redis_clock.hpp"

namespace tollgate::redis {

/// Is told how a connection fares, for the log and for statistics.
class ConnectionListener {
  public:
    ConnectionListener() = default;
    ConnectionListener(const ConnectionListener&) = delete;
    ConnectionListener& operator=(const ConnectionListener&) = delete;
    virtual ~ConnectionListener() = default;

    /// A call was answered, so long after it was made.
    virtual void on_answer(std::chrono::microseconds round_trip) noexcept = 0;
    /// Redis answered a command with an error, or its time ran out, or its connection was lost.
    virtual void on_error() noexcept = 0;
    /// A connection stands: the first one, or one that replaces another. Calls can be made.
    virtual void on_connected(bool is_first) noexcept = 0;
    /// Redis refuses all commands with this error: the connection is given up for a new one.
    virtual void on_refusal(std::string_view message) noexcept = 0;
    /// Redis told its time, when a new connection proved to serve: between these two, of the steady
    /// clock.
    virtual void on_time(ExactSteadyTime sent, ExactSteadyTime received,
                         ExactInstant time) noexcept = 0;
    /// Redis is out of reach from now on: commands fail at once, but for probes. The reason may be
    /// Redis's own text.
    virtual void on_breaker_open(std::string_view reason) noexcept = 0;
    /// A probe was answered.
    virtual void on_breaker_close() noexcept = 0;
    /// A graceful shutdown of the worker has begun; commands can still be sent.
    virtual void on_shutdown() noexcept = 0;
};

}  // namespace tollgate::redis
