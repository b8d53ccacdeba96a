#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "module/engine/engine.hpp"
#include "module/http/nginx.hpp"
#include "module/redis/io/link_conf.hpp"
#include "module/redis/io/resolved_servers.hpp"
#include "module/redis/protocol/interface.hpp"
#include "module/report/status.hpp"

namespace tollgate::http {

/// The servers that know which servers are masters: the Sentinels, or the masters of a cluster.
struct Electorate {
    redis::Access access;
    std::vector<redis::Server> servers;
    std::string master_name;  ///< of Sentinel; empty: a cluster
};

/// What a worker has for one `tollgate_redis`: an engine, and the connections of its transport.
class RedisClient : public redis::Interface {
  public:
    virtual engine::Engine& engine() = 0;
    /// What the engine has of its Redis and of the worker: settings, clocks, log, timers.
    engine::EngineContext& context() { return engine(); }
    /// The time that a request may wait for each of its calls.
    virtual std::chrono::milliseconds timeout() const = 0;
    /// Writes pending calls, and reads replies that arrived while the event loop stalled: see
    /// redis::Connection::poll.
    virtual void poll() noexcept = 0;
    /// Adds what this worker knows about the masters, for `tollgate_status`. Throws std::bad_alloc.
    virtual void describe(Status::Redis& /*redis*/) const {}

    /// How the masters are reached.
    virtual redis::Access access() = 0;
    /// The server that calls of Lane::kManagement for this slot are sent to, and in a handler of a
    /// reply, unless the call was redirected, the one that executed it. Nothing if none is known.
    /// Throws std::bad_alloc.
    virtual std::optional<redis::Server> master_of(redis::Slot slot) const = 0;
    /// A key of this slot that redis::probe_script() may write. Throws std::bad_alloc.
    virtual std::string probe_key(redis::Slot slot) const = 0;
    /// Nothing if one server is always the master. Throws std::bad_alloc.
    virtual std::optional<Electorate> electorate() = 0;
    /// Another server may be the master.
    virtual void search_masters() noexcept = 0;
};

}  // namespace tollgate::http
