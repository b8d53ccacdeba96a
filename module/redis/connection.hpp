#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_event_connect.h>
}

#include <chrono>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/core/backoff.hpp"
#include "module/redis/greeting.hpp"
#include "module/redis/pipeline.hpp"
#include "module/redis/reply.hpp"

namespace tollgate::redis {

/// How to reach and greet a Redis; made when the configuration is read.
struct Endpoint {
    std::string name;               ///< of `tollgate_redis`, for the log
    std::vector<ngx_addr_t> addrs;  ///< at least one; tried in turn; memory of the cycle's pool
    std::string username;
    std::string password;  ///< no AUTH where empty
    int database = 0;      ///< no SELECT where 0
    std::chrono::milliseconds connect_timeout{1000};
    std::chrono::milliseconds timeout{100};  ///< of one command, from send() to its reply
};

/// A worker's one connection to one Redis: non-blocking, pipelined, on nginx's events. It connects
/// by itself, and again with growing delays when it is lost. Commands sent in one turn of the event
/// loop leave in one write. A command that times out takes the connection down, so that a late
/// reply reaches nobody.
class Connection {
  public:
    /// Begins to connect at once. `endpoint` and `log` must outlive it.
    Connection(const Endpoint& endpoint, ngx_log_t* log);

    /// Fails what is waiting and closes the socket.
    ~Connection();

    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Sends a command, or queues it while the connection is being made. False when Redis is out of
    /// reach: the handler was not called and is gone. Throws std::bad_alloc.
    bool send(std::span<const std::string> command, std::unique_ptr<ReplyHandler> handler);

    /// Gives up this connection for a new one: for replies that say that it leads to the wrong
    /// server. Safe from inside a handler; takes effect when the reader is done.
    void renew() noexcept { renew_ = true; }

  private:
    enum class State {
        kDown,        ///< waiting for the next attempt
        kConnecting,  ///< the socket is not yet connected
        kGreeting,    ///< AUTH and SELECT are under way; commands wait
        kReady,
    };

    void connect();
    bool finish_connecting();
    void greet();
    void become_ready();
    void flush();
    void flush_soon();
    void on_readable();
    void on_writable();
    void on_timer();
    void take_replies();
    void take_greeting(const redisReply& reply);
    void take_reply(ReplyPtr reply);
    void lose(std::string_view reason);
    void retry_after(std::chrono::milliseconds delay);
    void close_socket();
    void watch_deadlines();

    /// nginx's view of a member function: what it throws ends the connection, not the worker.
    template <void (Connection::*Method)()>
    static void handle(ngx_event_t* event) noexcept;

    const Endpoint& endpoint_;
    ngx_log_t* log_;
    ngx_log_t quiet_log_;  ///< for the attempts after the first that failed
    State state_ = State::kDown;
    ngx_peer_connection_t peer_{};
    std::size_t next_addr_ = 0;
    /// An event's data must be shaped as a connection: debug builds log its fd.
    ngx_connection_t ident_{};
    ngx_event_t timer_{};
    ngx_event_t flush_event_{};
    std::unique_ptr<ReplyReader> reader_;
    std::string out_;  ///< bytes to write; the first `written_` of them are gone
    std::size_t written_ = 0;
    Greeting greeting_;
    std::minstd_rand random_;
    Pipeline pipeline_;
    ngx_msec_t connect_deadline_ = 0;
    ngx_msec_t calm_until_;       ///< a connection lost before is not made anew at once
    bool served_before_ = false;  ///< while it is down: commands may wait for the next attempt
    bool renew_ = false;
    Backoff backoff_;
};

}  // namespace tollgate::redis
