#include "module/redis/io/query.hpp"

#include <utility>

namespace tollgate::redis {

Query::Query(const Access& access, SocketAddresses addresses, std::vector<Words> commands,
             std::chrono::milliseconds timeout, QueryOwner& owner, ReplyLimits limits)
    : addresses_(std::move(addresses)),
      commands_(std::move(commands)),
      owner_(owner),
      deadline_(Clock::now() + timeout),
      timer_(Event::calling<&Query::on_timer>(this, access.log)),
      report_event_(Event::calling<&Query::report>(this, access.log)),
      link_(access, addresses_, *this, limits) {
    timer_.set_cancelable(true);
    timer_.start_until(deadline_);
    link_.connect();
}

void Query::on_ready() {
    for (const Words& command : commands_) {
        append_command(link_.out(), command);
    }
    link_.flush_soon();
}

void Query::on_reply(const redisReply& reply) {
    if (is_over_) {
        return;
    }
    is_over_ = ++answered_ == commands_.size();
    owner_.on_reply(reply);
    if (is_over_) {
        timer_.cancel();
        link_.give_up("the query is answered");
    }
}

/// May be called by the constructor.
void Query::on_lost(std::string_view reason) noexcept {
    if (!std::exchange(is_over_, true)) {
        timer_.cancel();
        reason_ = LogText(reason);
        report_event_.post();
    }
}

void Query::report() noexcept {
    owner_.on_no_reply(reason_);
}

void Query::on_timer() noexcept {
    const auto now = Clock::now();
    if (now < deadline_) {
        timer_.start_until(deadline_);
        return;
    }
    link_.poll();  // The event loop may have stalled.
    if (is_over_) {
        return;
    }
    link_.give_up("no reply in time");
}

}  // namespace tollgate::redis
