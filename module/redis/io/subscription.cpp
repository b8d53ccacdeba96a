#include "module/redis/io/subscription.hpp"

#include <exception>
#include <utility>

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/log_text.hpp"

namespace tollgate::redis {

using namespace std::chrono_literals;

namespace {

/// The interval of PINGs, and the time limit for each reply. Does not depend on the `timeout` of
/// commands: it limits how long a revoked key remains valid on a dead connection.
constexpr std::chrono::milliseconds kPingInterval = 1s;
constexpr std::chrono::milliseconds kBetweenAttempts = 500ms;
/// If Redis refuses the channel, an operator must change its ACL.
constexpr std::chrono::milliseconds kAfterRefusal = 10s;

}  // namespace

Subscription::Subscription(const Access& access, const SocketAddresses& addresses,
                           std::string channel, std::string effect_of_refusal,
                           MessageListener& listener)
    : access_(access),
      channel_(std::move(channel)),
      effect_of_refusal_(std::move(effect_of_refusal)),
      listener_(listener),
      link_(access, addresses, *this),
      timer_(Event::calling<&Subscription::on_timer>(this, access.log)) {
    timer_.set_cancelable(true);
    link_.connect();
}

void Subscription::on_ready() {
    ask({"SUBSCRIBE", channel_});
}

/// Sends a command. Its reply, or any message, must arrive before the next command.
void Subscription::ask(const Words& command) {
    append_command(link_.out(), command);
    link_.flush_soon();
    awaits_reply_ = true;
    postponed_ = false;
    schedule(Clock::now() + kPingInterval);
}

void Subscription::on_written(std::uint64_t /*bytes*/) noexcept {
    if (awaits_reply_) {
        due_ = Clock::now() + kPingInterval;
    }
}

void Subscription::renew() noexcept {
    link_.give_up("a new connection is needed");
}

void Subscription::follow_addresses() noexcept {
    if (link_.is_shutting_down()) {
        return;
    }
    if (!link_.is_down() && !link_.has_listed_address()) {
        link_.give_up("the server has another address");
    }
    if (link_.is_down()) {
        link_.connect();
    }
}

void Subscription::on_reply(const redisReply& reply) {
    awaits_reply_ = false;
    const auto elements = elements_of(reply);
    const auto kind = elements.empty() ? std::string_view() : text_of(*elements[0]);
    if (kind == "message" && elements.size() == 3) {
        listener_.on_message(text_of(*elements[2]));
    } else if (kind == "subscribe") {
        is_subscribed_ = true;
        was_refused_ = false;
        listener_.on_subscribed(true);
    } else if (reply.type == REDIS_REPLY_ERROR) {
        take_error(text_of(reply));
    } else if (kind != "pong") {
        link_.give_up("unexpected reply to SUBSCRIBE");
    }
}

void Subscription::take_error(std::string_view message) noexcept {
    if (has_error_code(message, "NOPERM") && !std::exchange(was_refused_, true)) {
        const LogText text(message);
        const std::string_view shown = text;
        ngx_log_error(NGX_LOG_WARN, access_.log, 0,
                      "tollgate: redis \"%s\" refuses the channel \"%s\"; %s: %*s",
                      access_.conf.name.c_str(), channel_.c_str(), effect_of_refusal_.c_str(),
                      shown.size(), shown.data());
    }
    link_.leave_address();
    link_.give_up(message);
}

void Subscription::on_lost(std::string_view /*reason*/) noexcept {
    awaits_reply_ = false;
    if (std::exchange(is_subscribed_, false)) {
        listener_.on_subscribed(false);
    }
    if (!link_.is_shutting_down()) {
        schedule(Clock::now() + (was_refused_ ? kAfterRefusal : kBetweenAttempts));
    }
}

void Subscription::on_timer() noexcept {
    const auto now = Clock::now();
    if (now < due_) {
        schedule(due_);
        return;
    }
    const bool stalled = now - due_ > kLateTimer;
    link_.poll();
    if (link_.is_down()) {
        if (due_ <= now && !link_.is_shutting_down()) {
            link_.connect();
        }
    } else if (awaits_reply_ && stalled && !std::exchange(postponed_, true)) {
        schedule(now + kPingInterval);
    } else if (awaits_reply_) {
        link_.give_up("no reply in time");
    } else if (link_.is_ready()) {
        try {
            ask({"PING"});
        } catch (const std::exception& e) {
            link_.give_up(e.what());
        }
    }
}

/// Sets the timer for the next action.
void Subscription::schedule(Clock::time_point end) noexcept {
    due_ = end;
    timer_.start_until(end);
}

}  // namespace tollgate::redis
