#pragma once

#include <chrono>

#include "module/gateway/engine.hpp"
#include "module/gateway/transport.hpp"
#include "module/report/status.hpp"

namespace tollgate::http {

/// What a worker has for one `tollgate_redis`: an engine, and the transport of its calls.
class RedisTransport : public gateway::Transport {
  public:
    virtual gateway::Engine& engine() = 0;
    /// The time that a request may wait for each of its calls.
    virtual std::chrono::milliseconds timeout() const = 0;
    /// Reads replies that arrived while the event loop stalled. For a timer, since a late timer may
    /// fire before the replies are read.
    virtual void poll() noexcept = 0;
    /// Adds what this worker knows about the masters, for `tollgate_status`. Throws std::bad_alloc.
    virtual void describe(Status::Redis& /*redis*/) const {}
};

}  // namespace tollgate::http
