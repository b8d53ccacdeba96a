#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_event_connect.h>
}

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "module/redis/io/endpoint.hpp"
#include "module/redis/io/event.hpp"
#include "module/redis/protocol/greeting.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/redis/protocol/reply.hpp"

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
    /// So many bytes are written to the socket since it was connected: see Link::position.
    virtual void on_written(std::uint64_t bytes) noexcept = 0;
    /// The next reply, the greeting's apart.
    virtual void on_reply(const redisReply& reply) = 0;
    /// It is down, and stays so until it is told to connect.
    virtual void on_lost(std::string_view reason) noexcept = 0;
    /// A graceful shutdown of the worker has begun. The link stays as it is, and writes what is
    /// appended here as soon as this returns.
    virtual void on_shutdown() noexcept = 0;
};

/// A non-blocking socket to a Redis on nginx's events: connects, greets, writes what it is given
/// at the end of the turn of the event loop, and reads replies.
class Link {
  public:
    /// `endpoint`, `owner` and `log` must outlive it.
    Link(const Endpoint& endpoint, LinkOwner& owner, ngx_log_t* log);
    /// Closes it. The owner hears nothing.
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Begins to connect, to the address that served last, and to each of the others where that
    /// fails. Only where it is down. The owner may be told before this returns that all failed.
    void connect() noexcept;

    /// Gives it up; the owner is told at once, or, from inside on_reply, when that has returned.
    /// The next attempt begins with another address where this one did not become ready.
    void give_up(std::string_view reason) noexcept;
    /// The next attempt begins with another address than this one, which serves no more.
    void leave_address() noexcept { leaves_address_ = true; }

    /// Writes what waits and reads what has come, at once. For a timer of the owner: the event loop
    /// may have stalled, so that what came in time was not read yet. Does nothing in on_reply.
    void poll() noexcept;

    bool is_down() const noexcept { return state_ == State::kDown; }
    bool is_ready() const noexcept { return state_ == State::kReady; }
    /// Whether the worker's time is up: it connects no more.
    bool is_over() const noexcept { return over_; }

    /// What is appended to this is sent after flush_soon(). Only where it is ready.
    std::string& out() noexcept { return out_; }
    /// How many bytes there are from the start of the connection to the end of out().
    std::uint64_t position() const noexcept { return sent_ + (out_.size() - written_); }
    void flush_soon() noexcept { flush_event_.post(); }

  private:
    using Clock = std::chrono::steady_clock;

    enum class State {
        kDown,
        kConnecting,  ///< the socket is not yet connected
        kGreeting,    ///< AUTH and SELECT are under way
        kReady,
    };

    void try_addresses() noexcept;
    void open_socket();
    void finish_connecting();
    void greet();
    void become_ready();
    void flush();
    void read();
    void read_and_write();
    void on_readable();
    void on_writable();
    void on_timeout();
    bool was_closed_by_nginx();
    void take_replies();
    void take_greeting(const redisReply& reply);
    void lose(std::string_view reason) noexcept;
    void drop(std::string_view reason) noexcept;
    void close_socket() noexcept;
    void move_on() noexcept;
    bool is_connected() const noexcept;
    std::string failed_connect(ngx_err_t error) const;
    const ngx_addr_t& address() const { return endpoint_.addrs[address_]; }

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
    std::size_t address_ = 0;      ///< of endpoint_.addrs, for this attempt or the next
    bool leaves_address_ = false;  ///< see leave_address
    std::size_t untried_ = 0;      ///< addresses that remain for connect()
    bool trying_ = false;          ///< in try_addresses()
    LogText failures_;             ///< of the addresses that were tried
    Clock::time_point deadline_;   ///< for this address to become ready
    Event timeout_;
    Event flush_event_;
    std::unique_ptr<ReplyReader> reader_;
    Greeting greeting_;
    std::string out_;  ///< bytes to write; the first `written_` of them are gone
    std::size_t written_ = 0;
    std::uint64_t sent_ = 0;            ///< bytes written since the socket was opened
    std::optional<LogText> giving_up_;  ///< the reason, until on_reply has returned
};

template <void (Link::*Method)()>
void Link::call() noexcept {
    try {
        (this->*Method)();
    } catch (const std::exception& e) {
        reading_ = false;
        lose(e.what());
    }
}

template <void (Link::*Method)()>
void Link::handle(ngx_event_t* event) noexcept {
    static_cast<Link*>(static_cast<ngx_connection_t*>(event->data)->data)->call<Method>();
}

}  // namespace tollgate::redis
