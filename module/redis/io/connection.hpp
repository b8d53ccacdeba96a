#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "module/redis/io/connection_listener.hpp"
#include "module/redis/io/event.hpp"
#include "module/redis/io/link.hpp"
#include "module/redis/protocol/backoff.hpp"
#include "module/redis/protocol/breaker.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/redis/protocol/log_throttle.hpp"
#include "module/redis/protocol/pipeline.hpp"

namespace tollgate::redis {

/// A worker's one connection to one Redis, for calls of scripts: pipelined, made anew by itself
/// when it is lost, behind a circuit breaker. Calls made in one turn of the event loop leave in one
/// write. A call that times out takes the connection down, so that a late reply reaches nobody. So
/// does an error that concerns the server as a whole: it counts as a failure of the server.
class Connection : private LinkOwner {
  public:
    /// Begins to connect at once. `endpoint`, `listener` and `log` must outlive it. `probe_key` is
    /// the key that probe_script() writes.
    Connection(const Endpoint& endpoint, std::string probe_key, ConnectionListener& listener,
               ngx_log_t* log);

    /// Closes the socket. The handlers of calls under way are destroyed and hear nothing.
    ~Connection() override = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Calls a script, or lets the call wait while the connection is being made. Where Redis is out
    /// of reach, or memory is short, the handler's on_failure is called before this returns.
    void run(Call call, std::unique_ptr<ReplyHandler> handler) noexcept;

    /// Whether run() has a chance.
    bool is_reachable() const noexcept {
        return breaker_.state() != Breaker::State::kOpen && !link_.is_over();
    }

    /// Redis has this error of ErrorScope::kServer. For a handler that finds it among the values of
    /// a script; an error that answers a whole call is known here. Safe from inside a handler.
    void refuse(std::string_view message) noexcept;

    /// Writes and reads what the socket has room and bytes for, at once: for a timer, which may
    /// fire ahead of replies that have come while the event loop stalled.
    void poll() noexcept { link_.poll(); }

  private:
    using Time = Pipeline::Time;
    class Probe;

    void on_ready() override;
    void on_written(std::uint64_t bytes) noexcept override;
    void on_reply(const redisReply& reply) override;
    void on_lost(std::string_view reason) noexcept override;
    void on_shutdown() noexcept override { listener_.on_shutdown(); }

    void push_probe();
    bool push(Call&& call, std::unique_ptr<ReplyHandler>&& handler) noexcept;
    void release() noexcept;
    void fail(std::string_view reason) noexcept;
    void reconnect() noexcept;
    void on_timer() noexcept;
    void time_out(Time now) noexcept;
    void watch_deadlines() noexcept;
    void log_loss(std::string_view reason, bool is_failure) noexcept;

    const Endpoint& endpoint_;
    const std::string probe_key_;
    ConnectionListener& listener_;
    ngx_log_t* log_;
    Link link_;
    Pipeline pipeline_;
    Breaker breaker_;
    Backoff backoff_;
    std::minstd_rand random_;
    LogThrottle losses_;
    LogText reason_;  ///< why the link is down
    bool was_ready_ = false;
    bool refused_ = false;  ///< the link is given up since Redis refuses commands
    Time retry_at_{};       ///< while the link is down
    Time calm_until_{};     ///< a link lost before is not made anew at once
    Time timer_end_{};      ///< while the timer is running
    Event timer_;
};

}  // namespace tollgate::redis
