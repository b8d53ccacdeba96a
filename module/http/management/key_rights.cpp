#include "module/http/management/key_rights.hpp"

#include <exception>
#include <utility>

#include "module/management/admin/resources.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::http {

void KeyRights::check(Done done) {
    done_ = std::move(done);
    is_waiting_ = false;
    admission_.emplace(
        key_.transport.engine(), key_.tables, static_cast<engine::Admission::Client&>(*this),
        engine::Admission::Options{
            .refusals_strike = false, .checks_key_only = true, .scopes = key_.scopes});
    admission_->start(key_.token);
    if (admission_->outcome().is_decided()) {
        finish();
        return;
    }
    is_waiting_ = true;
    if (timer_ == nullptr) {
        timer_ = key_.transport.context().make_timer([this] { admission_->time_out(); });
    }
    timer_->start(key_.transport.timeout());
}

/// The operation must not run inside the reader of replies.
void KeyRights::on_outcome() noexcept {
    if (!is_waiting_) {
        return;
    }
    timer_->cancel();
    attempt(log(), [&] { turns_.push([this] { attempt(log(), [&] { finish(); }); }); });
}

void KeyRights::finish() {
    const engine::Outcome& outcome = admission_->outcome();
    const auto done = std::exchange(done_, nullptr);
    if (outcome.is_granted()) {
        done(management::HeldRights{.id = outcome.key().id, .scopes = outcome.key().scopes});
        return;
    }
    auto refusal =
        management::error_response(outcome.status, outcome.error.code, outcome.error.message);
    refusal.is_refusal = true;
    done(std::move(refusal));
}

}  // namespace tollgate::http
