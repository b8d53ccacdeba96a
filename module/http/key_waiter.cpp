#include "module/http/key_waiter.hpp"

#include "module/http/clock.hpp"
#include "module/http/decision.hpp"
#include "module/http/redis_client.hpp"
#include "module/redis/key_lookup.hpp"

namespace tollgate::http {

KeyWaiter::KeyWaiter(Decision& decision) : decision_(&decision), asked_(steady_time()) {}

void KeyWaiter::on_values(std::span<const redisReply* const> values) noexcept {
    if (decision_ == nullptr) {
        return;
    }
    const bool done = guarded(decision_->client().log(), false, [&] {
        const auto lookup = redis::read_lookup(values);
        if (lookup.outcome == redis::Lookup::Outcome::kUnexpected) {
            return false;
        }
        decision_->on_record(lookup, asked_);
        return true;
    });
    if (!done) {
        on_error("unexpected reply");
    }
}

void KeyWaiter::on_error(std::string_view message) noexcept {
    if (decision_ != nullptr) {
        decision_->client().report(message);
        decision_->on_unavailable();
    }
}

void KeyWaiter::on_failure() noexcept {
    if (decision_ != nullptr) {
        decision_->on_unavailable();
    }
}

}  // namespace tollgate::http
