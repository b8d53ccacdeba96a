#include "module/redis/subscription.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tollgate::redis {

using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds kBetweenPings = 1s;
constexpr std::chrono::milliseconds kBetweenAttempts = 500ms;
/// One that Redis refuses (its rules forbid the channel) is for an operator to mend.
constexpr std::chrono::milliseconds kAfterRefusal = 10s;

}  // namespace

Subscription::Subscription(const Endpoint& endpoint, std::string channel, MessageListener& listener,
                           ngx_log_t* log)
    : endpoint_(endpoint),
      channel_(std::move(channel)),
      listener_(listener),
      log_(log),
      link_(endpoint, *this, log),
      timer_(Event::calling<&Subscription::on_timer>(this, log)) {
    timer_.let_shutdown_pass(true);
    link_.connect();
}

void Subscription::on_ready() {
    ask({"SUBSCRIBE", channel_});
}

/// Sends a command; its reply, or any message, is to come before the next one.
void Subscription::ask(const Words& command) {
    append_command(link_.out(), command);
    link_.flush_soon();
    awaits_reply_ = true;
    schedule(std::max(endpoint_.timeout, kBetweenPings));
}

void Subscription::on_reply(const redisReply& reply) {
    awaits_reply_ = false;
    const auto elements = elements_of(reply);
    const auto kind = elements.empty() ? std::string_view() : text_of(*elements[0]);
    if (kind == "message" && elements.size() == 3) {
        listener_.on_message(text_of(*elements[2]));
    } else if (kind == "subscribe") {
        standing_since_ = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now().time_since_epoch());
        was_refused_ = false;
        listener_.on_subscribed(true);
    } else if (reply.type == REDIS_REPLY_ERROR) {
        take_error(text_of(reply));
    } else if (kind != "pong") {
        link_.give_up("unexpected reply to SUBSCRIBE");
    }
}

void Subscription::take_error(std::string_view message) {
    if (message.starts_with("NOPERM") && !std::exchange(was_refused_, true)) {
        ngx_log_error(NGX_LOG_WARN, log_, 0,
                      "tollgate: redis \"%s\" refuses the channel \"%s\", so that records of keys "
                      "are asked for each second: %*s",
                      endpoint_.name.c_str(), channel_.c_str(), message.size(), message.data());
    }
    link_.give_up(message);
}

void Subscription::on_lost(std::string_view /*reason*/) noexcept {
    if (std::exchange(standing_since_, std::nullopt)) {
        listener_.on_subscribed(false);
    }
    if (!link_.is_over()) {
        schedule(was_refused_ ? kAfterRefusal : kBetweenAttempts);
    }
}

void Subscription::on_timer() {
    if (link_.is_down()) {
        link_.connect();
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

void Subscription::schedule(std::chrono::milliseconds delay) {
    timer_.start(static_cast<ngx_msec_t>(delay.count()));
}

}  // namespace tollgate::redis
