#pragma once

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "module/core/backoff.hpp"
#include "module/core/breaker.hpp"
#include "module/redis/connection_listener.hpp"
#include "module/redis/event.hpp"
#include "module/redis/link.hpp"
#include "module/redis/pipeline.hpp"

namespace tollgate::redis {

/// A worker's one connection to one Redis, for calls of scripts: pipelined, made anew by itself
/// when it is lost, behind a circuit breaker. Calls made in one turn of the event loop leave in one
/// write. A call that times out takes the connection down, so that a late reply reaches nobody.
class Connection : private LinkOwner {
  public:
    /// Begins to connect at once. All three must outlive it.
    Connection(const Endpoint& endpoint, ConnectionListener& listener, ngx_log_t* log);

    /// Fails what is waiting and closes the socket.
    ~Connection() override;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Calls a script, or lets the call wait while the connection is being made. Where Redis is out
    /// of reach the handler goes without being called. Throws std::bad_alloc.
    void run(Call call, std::unique_ptr<ReplyHandler> handler);

    /// Whether run() has a chance.
    bool is_reachable() const {
        return breaker_.state() != Breaker::State::kOpen && !link_.is_over();
    }

    /// Gives up this connection for a new one: for replies that say that it leads to the wrong
    /// server. Safe from inside a handler.
    void renew() { link_.give_up("a new connection is needed"); }

  private:
    class Probe;

    void on_ready() override;
    void on_reply(const redisReply& reply) override;
    void on_lost(std::string_view reason) noexcept override;
    void on_shutdown() noexcept override { listener_.on_shutdown(); }

    void release();
    void reconnect();
    void on_timer();
    void watch_deadlines();
    void log_loss(std::string_view reason) const;

    const Endpoint& endpoint_;
    ConnectionListener& listener_;
    ngx_log_t* log_;
    Link link_;
    Pipeline pipeline_;
    Breaker breaker_;
    Backoff backoff_;
    std::minstd_rand random_;
    bool was_ready_ = false;
    ngx_msec_t retry_at_ = 0;  ///< while the link is down
    ngx_msec_t calm_until_;    ///< a link lost before is not made anew at once
    Event timer_;
};

}  // namespace tollgate::redis
