#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_event_connect.h>
}

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "module/redis/endpoint.hpp"
#include "module/redis/event.hpp"
#include "module/redis/greeting.hpp"
#include "module/redis/reply.hpp"

namespace tollgate::redis {

/// Whose link it is: hears of all that comes. What on_ready or on_reply throws ends the link.
class LinkOwner {
  public:
    LinkOwner() = default;
    LinkOwner(const LinkOwner&) = delete;
    LinkOwner& operator=(const LinkOwner&) = delete;
    virtual ~LinkOwner() = default;

    /// It is connected and greeted.
    virtual void on_ready() = 0;
    /// The next reply, the greeting's apart.
    virtual void on_reply(const redisReply& reply) = 0;
    /// It is down, and stays so until it is told to connect.
    virtual void on_lost(std::string_view reason) noexcept = 0;
    /// A graceful shutdown of the worker has begun; the link stays as it is.
    virtual void on_shutdown() noexcept = 0;
};

/// A non-blocking socket to a Redis on nginx's events: connects, greets, writes what it is given
/// at the end of the turn of the event loop, and reads replies.
class Link {
  public:
    /// `endpoint`, `owner` and `log` must outlive it.
    Link(const Endpoint& endpoint, LinkOwner& owner, ngx_log_t* log);
    /// Closes it without a word to the owner.
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Begins to connect to the next of the addresses. Only where it is down. The owner may be told
    /// of a failure before this returns.
    void connect() noexcept;

    /// Gives it up; the owner is told at once, or, from inside on_reply, when that has returned.
    void give_up(std::string_view reason);

    bool is_down() const { return state_ == State::kDown; }
    bool is_ready() const { return state_ == State::kReady; }
    /// Whether the worker's time is up: it connects no more.
    bool is_over() const { return over_; }

    /// What is appended to this is sent after flush_soon(). Only where it is ready.
    std::string& out() { return out_; }
    void flush_soon();

  private:
    enum class State {
        kDown,
        kConnecting,  ///< the socket is not yet connected
        kGreeting,    ///< AUTH and SELECT are under way
        kReady,
    };

    void open_socket();
    void finish_connecting();
    void greet();
    void become_ready();
    void flush();
    void on_readable();
    void on_writable();
    void on_timeout();
    bool was_closed_by_nginx();
    void take_replies();
    void take_greeting(const redisReply& reply);
    void lose(std::string_view reason) noexcept;
    void close_socket() noexcept;
    std::string failed_connect(ngx_err_t error) const;

    /// What a member function throws ends the link, not the worker.
    template <void (Link::*Method)()>
    void call() noexcept;
    /// nginx's view of it, for the socket's events.
    template <void (Link::*Method)()>
    static void handle(ngx_event_t* event) noexcept;

    const Endpoint& endpoint_;
    LinkOwner& owner_;
    ngx_log_t* log_;
    ngx_log_t quiet_log_;  ///< for nginx's own words: the owner is told the reason
    State state_ = State::kDown;
    bool reading_ = false;
    bool over_ = false;
    ngx_peer_connection_t peer_{};
    std::size_t next_addr_ = 0;
    Event timeout_;
    Event flush_event_;
    std::unique_ptr<ReplyReader> reader_;
    Greeting greeting_;
    std::string out_;  ///< bytes to write; the first `written_` of them are gone
    std::size_t written_ = 0;
    std::optional<std::string> giving_up_;  ///< the reason, until on_reply has returned
};

}  // namespace tollgate::redis
