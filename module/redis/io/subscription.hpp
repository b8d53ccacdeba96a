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
#include "module/redis/protocol/interface.hpp"

namespace tollgate::redis {

/// Receives the messages and the state of a subscription.
class MessageListener : public Interface {
  public:
    virtual void on_message(std::string_view text) noexcept = 0;
    /// The subscription was established or lost. Messages that are published while it is lost are
    /// missed.
    virtual void on_subscribed(bool is_subscribed) noexcept = 0;
};

/// The subscription of a worker to one channel of a Redis, on its own link. A lost subscription is
/// restored automatically. A PING is sent each second and must be answered within one second,
/// regardless of `timeout`: until then, messages may be missed.
class Subscription : private LinkOwner {
  public:
    /// Starts to connect at once. What `access` refers to, `addresses` and `listener` must outlive
    /// the subscription. `effect_of_refusal` is for the log: what happens if Redis refuses the
    /// channel.
    Subscription(const Access& access, const SocketAddresses& addresses, std::string channel,
                 std::string effect_of_refusal, MessageListener& listener);
    ~Subscription() override = default;
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    /// Replaces the connection: the server is not, or was not, the right one. May be called from
    /// on_message.
    void renew() noexcept;

    /// The list of addresses has changed: connects at once if the link is down, and replaces it if
    /// its address is no longer in the list.
    void follow_addresses() noexcept;

    /// Whether Redis refused the channel when it was last asked.
    bool was_refused() const noexcept { return was_refused_; }

  private:
    using Clock = std::chrono::steady_clock;

    void on_ready() override;
    void on_written(std::uint64_t bytes) noexcept override;
    void on_reply(const redisReply& reply) override;
    void on_lost(std::string_view reason) noexcept override;

    void ask(const Words& command);
    void on_timer() noexcept;
    void schedule(Clock::time_point end) noexcept;
    void take_error(std::string_view message) noexcept;

    const Access access_;
    std::string channel_;
    std::string effect_of_refusal_;
    MessageListener& listener_;
    Link link_;
    bool is_subscribed_ = false;
    bool awaits_reply_ = false;
    bool postponed_ = false;   ///< the deadline of the awaited reply was extended
    Clock::time_point due_{};  ///< deadline of the awaited reply, or time of the next action
    bool was_refused_ = false;
    Event timer_;
};

}  // namespace tollgate::redis
