#include "module/engine/node_call.hpp"

#include <utility>

#include "module/engine/engine_context.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/node_script.hpp"

namespace tollgate::engine {

void NodeCall::run(redis::Slot slot, redis::Call call, std::unique_ptr<Reply> reply) noexcept {
    reply->call_ = this;
    reply->slot_ = slot;
    context_.transport_.run(slot, std::move(call), std::move(reply));
}

Instant NodeCall::deadline(redis::Slot slot) const {
    return context_.redis_clock(slot).deadline(context_.clock().steady(),
                                               context_.settings().timeout);
}

/// `is_reply`: the error is the whole reply. Then the connection has it, too, and closes if it
/// concerns the server. Without a consequence, such errors are reported again: the connection takes
/// them once.
void NodeCall::log(redis::Slot slot, std::string_view error, bool is_reply) noexcept {
    if (!consequence_.empty()) {
        // Other errors end by themselves.
        if (redis::is_lasting(error) && !is_refused_ &&
            lines_.admit(redis::LogThrottle::Time(context_.clock().steady()))) {
            is_refused_ = true;
            context_.log_refusal(level_, consequence_, error);
        }
        return;
    }
    const bool is_logged_by_connection = is_reply && redis::is_forbidden(error) &&
                                         redis::error_scope(error) == redis::ErrorScope::kServer;
    if (!is_logged_by_connection) {
        context_.report_error(slot, error);
    }
}

void NodeCall::Reply::on_values(redis::ReplyValues values) noexcept {
    if (const auto refusal = redis::read_refusal(values)) {
        refuse(*refusal, false);
        return;
    }
    call_->is_refused_ = false;
    on_result(values);
}

void NodeCall::Reply::on_error(std::string_view error) noexcept {
    refuse(error, true);
}

void NodeCall::Reply::refuse(std::string_view error, bool is_reply) noexcept {
    if (!is_expected(error)) {
        call_->log(slot_, error, is_reply);
    }
    on_refusal(error);
}

}  // namespace tollgate::engine
