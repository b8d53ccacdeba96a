#include "module/redis/io/successor.hpp"

#include <algorithm>
#include <utility>

#include "module/redis/protocol/log_text.hpp"

namespace tollgate::redis {

namespace {

/// The delay when all addresses have failed.
constexpr std::chrono::milliseconds kBetweenRounds{500};

}  // namespace

Successor::Successor(const Access& access, const SocketAddresses& addresses,
                     const std::string& probe_key, ReplyLimits limits, SuccessorOwner& owner)
    : access_(access),
      addresses_(addresses),
      probe_key_(probe_key),
      owner_(owner),
      link_(std::make_unique<Link>(access, addresses, static_cast<LinkOwner&>(*this), limits)),
      pipeline_(static_cast<std::uint64_t>(ngx_random()), access.conf.timeout),
      timer_(Event::calling<&Successor::on_timer>(this, access.log)) {
    timer_.set_cancelable(true);
    link_->connect();
}

void Successor::on_ready() {
    pipeline_.push_ahead(Probe::call(probe_key_),
                         std::make_unique<Probe>(static_cast<ProbeOwner&>(*this)),
                         Pipeline::Clock::now());
    pipeline_.release(link_->out(), link_->position());
    link_->flush_soon();
    timer_.start(static_cast<ngx_msec_t>(access_.conf.timeout.count()));
}

void Successor::on_reply(const redisReply& reply) {
    const auto taken = pipeline_.take(reply);
    if (taken == Pipeline::Taken::kError) {
        on_not_accepted(text_of(reply));  // Has no effect if the probe has accepted the error.
    } else if (taken == Pipeline::Taken::kMismatched) {
        link_->leave_address();
        link_->give_up(reply.type == REDIS_REPLY_ERROR ? text_of(reply) : "replies don't match");
    }
}

void Successor::on_accepted(const std::optional<ObservedTime>& time) noexcept {
    timer_.cancel();
    time_ = time;
    is_usable_ = true;
    owner_.on_successor_change();
}

void Successor::on_not_accepted(std::string_view reason) noexcept {
    if (!is_usable_) {
        link_->leave_address();
        link_->give_up(reason);
    }
}

void Successor::on_lost(std::string_view reason) noexcept {
    pipeline_.fail_all();
    if (!std::exchange(is_logged_, true)) {
        ngx_log_error(NGX_LOG_WARN, access_.log, 0,
                      "tollgate: redis \"%s\": the new address can't be used yet, the old "
                      "connection remains: %*s",
                      access_.conf.name.c_str(), reason.size(), reason.data());
    }
    if (!link_->is_shutting_down()) {
        // A link tries all addresses itself unless one of them accepts the connection.
        const bool is_round_over = ++failures_ % addresses_.size() == 0;
        timer_.start(is_round_over ? static_cast<ngx_msec_t>(kBetweenRounds.count()) : 0);
    }
    if (std::exchange(is_usable_, false)) {
        owner_.on_successor_change();
    }
}

void Successor::on_timer() noexcept {
    link_->poll();  // The event loop may have stalled.
    if (link_->is_down()) {
        link_->connect();
    } else if (link_->is_ready() && !is_usable_) {
        link_->give_up("no reply to a probe in time");
    }
}

}  // namespace tollgate::redis
