#include "module/gateway/node_call.hpp"

#include <utility>

#include "module/gateway/engine_context.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/node_script.hpp"

namespace tollgate::gateway {

void NodeCall::run(redis::Slot slot, redis::Call call, std::unique_ptr<Reply> reply) noexcept {
    reply->call_ = this;
    reply->slot_ = slot;
    context_.transport_.run(slot, std::move(call), std::move(reply));
}

Instant NodeCall::deadline(redis::Slot slot) const {
    return context_.redis_clock(slot).deadline(context_.clock().steady(),
                                               context_.settings().timeout);
}

/// Errors of the server end by themselves. `is_reply`: the connection has the error, too, and
/// closes if it concerns the server.
void NodeCall::log(redis::Slot slot, std::string_view error, bool is_reply) noexcept {
    if (!consequence_.empty() && redis::is_lasting(error)) {
        if (!std::exchange(is_refused_, true)) {
            context_.log_refusal(level_, consequence_, error);
        }
    } else if (!is_reply || redis::error_scope(error) == redis::ErrorScope::kCommand ||
               !redis::is_forbidden(error)) {
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

}  // namespace tollgate::gateway
