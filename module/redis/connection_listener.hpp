#pragma once

#include <chrono>
#include <string_view>

namespace tollgate::redis {

/// Is told how a connection fares, for the log and for statistics.
class ConnectionListener {
  public:
    ConnectionListener() = default;
    ConnectionListener(const ConnectionListener&) = delete;
    ConnectionListener& operator=(const ConnectionListener&) = delete;
    virtual ~ConnectionListener() = default;

    virtual void on_answer(std::chrono::microseconds round_trip) noexcept = 0;
    /// Redis answered a command with an error, or its time ran out, or its connection was lost.
    virtual void on_error() noexcept = 0;
    virtual void on_reconnect() noexcept = 0;
    /// Redis is out of reach from now on: commands are refused at once, but for probes.
    virtual void on_breaker_open(std::string_view reason) noexcept = 0;
    /// A probe was answered.
    virtual void on_breaker_close() noexcept = 0;
    /// A graceful shutdown of the worker has begun; commands can still be sent.
    virtual void on_shutdown() noexcept = 0;
};

}  // namespace tollgate::redis
