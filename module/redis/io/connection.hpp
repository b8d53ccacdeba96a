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

/// The connection of a worker to a Redis, for calls of scripts. Calls are pipelined: those made in
/// one iteration of the event loop are sent in one write. A lost connection is replaced
/// automatically, behind a circuit breaker. A call that times out closes the connection, so that
/// its late reply is never read. An error that concerns the whole server does the same and counts
/// as a failure of the server.
class Connection : private LinkOwner {
  public:
    /// Starts to connect at once, or as soon as an address is known. `endpoint`, `addresses`,
    /// `tls`, `listener` and `log` must outlive the connection. `tls` is nullptr for a connection
    /// without TLS. `probe_key` is the key that probe_script() writes.
    Connection(const Endpoint& endpoint, const AddressList& addresses, TlsPeer* tls,
               std::string probe_key, ConnectionListener& listener, ngx_log_t* log);

    /// Closes the socket. The handlers of pending calls are destroyed; no callback follows.
    ~Connection() override = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Calls a script. The call is queued while the connection is being established. If Redis is
    /// unreachable or memory is short, the handler's on_failure is called before this function
    /// returns.
    void run(Call call, std::unique_ptr<ReplyHandler> handler) noexcept;

    /// Whether no call is pending.
    bool is_idle() const noexcept { return pipeline_.empty(); }

    /// Whether run() may succeed.
    bool is_reachable() const noexcept {
        return breaker_.state() != Breaker::State::kOpen && !link_.is_shutting_down();
    }

    /// The list of addresses has changed: connects at once if the link is down, and replaces it if
    /// its address is no longer in the list.
    void follow_addresses() noexcept;

    /// Reports an error of ErrorScope::kServer that a handler found among the values of a script.
    /// Errors that answer a whole call are detected here. May be called from a handler.
    void refuse(std::string_view message) noexcept;

    /// Writes and reads as much as the socket allows, immediately. For timers: a timer may fire
    /// before replies are read that arrived while the event loop stalled.
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
    bool may_connect() const noexcept {
        return link_.is_down() && !link_.is_shutting_down() && !addresses_.all().empty();
    }
    void on_timer() noexcept;
    void time_out(Time now) noexcept;
    void watch_deadlines() noexcept;
    void log_loss(std::string_view reason, bool is_failure) noexcept;

    const Endpoint& endpoint_;
    const AddressList& addresses_;
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
    bool refused_ = false;  ///< the link is being closed because Redis refuses commands
    Time retry_at_{};       ///< while the link is down
    Time calm_until_{};     ///< a link that is lost before this time is replaced after a delay
    Time timer_end_{};      ///< while the timer is running
    Event timer_;
};

}  // namespace tollgate::redis
