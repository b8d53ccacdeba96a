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

#include "module/redis/io/captured_log.hpp"
#include "module/redis/io/event.hpp"
#include "module/redis/io/link_conf.hpp"
#include "module/redis/io/tls_peer.hpp"
#include "module/redis/protocol/greeting.hpp"
#include "module/redis/protocol/interface.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {

/// The owner of a link, which receives its events. An exception from on_ready or on_reply closes
/// the link.
class LinkOwner : public Interface {
  public:
    /// The link is connected, and AUTH and SELECT have succeeded.
    virtual void on_ready() = 0;
    /// The number of bytes written to the socket since it was connected: see Link::position.
    virtual void on_written(std::uint64_t bytes) noexcept = 0;
    /// The next reply, except the replies to AUTH and SELECT.
    virtual void on_reply(const redisReply& reply) = 0;
    /// The link is down, and remains so until connect() is called.
    virtual void on_lost(std::string_view reason) noexcept = 0;
};

/// A non-blocking socket to a Redis, driven by nginx's events. It connects, sends AUTH and SELECT,
/// writes the appended data at the end of the event loop iteration, and reads replies.
class Link {
  public:
    /// All arguments must outlive the link. `addresses` may change. Replies that exceed the limits
    /// close the link.
    Link(const Access& access, const SocketAddresses& addresses, LinkOwner& owner,
         ReplyLimits limits = {});
    /// Closes the link; no callback follows.
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Starts to connect: first to the address that worked last, then to each of the others. The
    /// link must be down. on_lost may be called before this function returns if all addresses fail.
    void connect() noexcept;

    /// Closes the link without on_lost, and starts to connect as connect() does. The link must not
    /// be ready.
    void connect_anew() noexcept;

    /// Closes the link. on_lost is called immediately, or after on_reply has returned. If the link
    /// was not ready, the next attempt starts with another address.
    void give_up(std::string_view reason) noexcept;
    /// The next attempt starts with another address: the server at this one does not accept
    /// commands.
    void leave_address() noexcept { leaves_address_ = true; }

    /// Writes pending data and reads available data immediately. For a timer of the owner: after a
    /// stall of the event loop, replies that arrived in time may not have been read. Has no effect
    /// in on_reply.
    void poll() noexcept;

    bool is_down() const noexcept { return state_ == State::kDown || state_ == State::kClosed; }
    bool is_ready() const noexcept { return state_ == State::kReady; }
    /// Whether the worker shuts down, so that the link does not connect again.
    bool is_shutting_down() const noexcept { return state_ == State::kClosed; }

    /// The next connect() begins with this address.
    void start_at(const std::optional<SocketAddress>& address) { address_ = address; }
    /// Drops what was not written: nothing is sent any more, and replies are read.
    void stop_writing() noexcept;

    /// The events go to this owner from now on.
    void set_owner(LinkOwner& owner) noexcept { owner_ = &owner; }

    /// The address of the current connection, or of the last or next attempt; nothing at first.
    const std::optional<SocketAddress>& address() const noexcept { return address_; }
    /// Whether that address is still in the list.
    bool has_listed_address() const noexcept { return address_ && contains(addresses_, *address_); }

    /// The output buffer, which is sent after flush_soon(). The link must be ready.
    std::string& out() noexcept { return out_; }
    /// The number of bytes from the start of the connection to the end of out().
    std::uint64_t position() const noexcept { return sent_ + (out_.size() - written_); }
    void flush_soon() noexcept { flush_event_.post(); }

  private:
    using Clock = std::chrono::steady_clock;

    enum class State {
        kDown,
        kClosed,       ///< down for ever: the worker shuts down
        kConnecting,   ///< the socket is not yet connected
        kHandshaking,  ///< the TLS handshake is under way
        kGreeting,     ///< AUTH and SELECT are under way
        kReady,
    };

    void try_addresses() noexcept;
    void open_socket();
    void establish();
    void finish_connecting();
    void handshake();
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
    void drop(std::string_view reason, State end = State::kDown) noexcept;
    void close_socket() noexcept;
    void move_on() noexcept;
    bool is_connected() const noexcept;
    /// Whether Redis's protocol is spoken.
    bool is_established() const noexcept {
        return state_ == State::kGreeting || state_ == State::kReady;
    }
    std::string failed_connect(ngx_err_t error) const;

    /// Calls a member function. An exception closes the link; the worker continues.
    template <void (Link::*Method)()>
    void call() noexcept;
    /// The handler of the socket's events.
    template <void (Link::*Method)()>
    static void handle(ngx_event_t* event) noexcept;

    const Access access_;
    const SocketAddresses& addresses_;
    LinkOwner* owner_;
    ReplyLimits limits_;
    ngx_log_t quiet_log_;     ///< for what nginx says of connecting; the owner logs the reason
    CapturedLog socket_log_;  ///< for what nginx says of reading, writing and TLS
    State state_ = State::kDown;
    bool reading_ = false;
    ngx_peer_connection_t peer_{};
    std::optional<SocketAddress> address_;  ///< of this attempt, or of the next
    ngx_str_t address_name_{};              ///< for nginx's messages
    bool leaves_address_ = false;           ///< see leave_address
    std::size_t untried_ = 0;               ///< addresses that remain for connect()
    bool trying_ = false;                   ///< in try_addresses()
    LogText failures_;                      ///< errors of the addresses that were tried
    Clock::time_point deadline_;            ///< by which this address must be ready
    Event timeout_;
    Event flush_event_;
    std::unique_ptr<ReplyReader> reader_;
    Greeting greeting_;
    std::string out_;  ///< bytes to write; the first `written_` of them are written
    std::size_t written_ = 0;
    std::size_t blocked_ = 0;  ///< bytes of a blocked write, which is repeated with as many
    std::uint64_t sent_ = 0;   ///< bytes written since the socket was opened
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
