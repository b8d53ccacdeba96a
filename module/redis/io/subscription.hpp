#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "module/redis/io/event.hpp"
#include "module/redis/io/link.hpp"
#include "module/redis/protocol/command.hpp"

namespace tollgate::redis {

/// Hears what is published.
class MessageListener {
  public:
    MessageListener() = default;
    MessageListener(const MessageListener&) = delete;
    MessageListener& operator=(const MessageListener&) = delete;
    virtual ~MessageListener() = default;

    virtual void on_message(std::string_view text) noexcept = 0;
    /// It stands from now on, or does so no more: what is published meanwhile is missed.
    virtual void on_subscribed(bool stands) noexcept = 0;
};

/// A worker's subscription to one channel of a Redis, on a link of its own, made anew by itself
/// when it is lost. Redis is asked each second whether it is still there, and must answer within
/// one second, whatever `timeout` is: what is published meanwhile may be missed.
class Subscription : private LinkOwner {
  public:
    /// Begins to connect at once. `endpoint`, `listener` and `log` must outlive it.
    Subscription(const Endpoint& endpoint, std::string channel, MessageListener& listener,
                 ngx_log_t* log);
    ~Subscription() override = default;
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    /// Gives up this connection for a new one: the server is not, or was not, the right one. Safe
    /// from inside on_message.
    void renew() noexcept;

    /// Since when nothing that was published was missed, by the steady clock; nothing where it may
    /// be missed now.
    std::optional<std::chrono::milliseconds> standing_since() const { return standing_since_; }

  private:
    using Clock = std::chrono::steady_clock;

    void on_ready() override;
    void on_written(std::uint64_t bytes) noexcept override;
    void on_reply(const redisReply& reply) override;
    void on_lost(std::string_view reason) noexcept override;
    void on_shutdown() noexcept override {}

    void ask(const Words& command);
    void on_timer() noexcept;
    void schedule(Clock::time_point end) noexcept;
    void take_error(std::string_view message) noexcept;

    const Endpoint& endpoint_;
    std::string channel_;
    MessageListener& listener_;
    ngx_log_t* log_;
    Link link_;
    std::optional<std::chrono::milliseconds> standing_since_;
    bool awaits_reply_ = false;
    bool postponed_ = false;   ///< for the reply that is awaited
    Clock::time_point due_{};  ///< of the reply that is awaited, or of what the timer is to begin
    bool was_refused_ = false;
    Event timer_;
};

}  // namespace tollgate::redis
