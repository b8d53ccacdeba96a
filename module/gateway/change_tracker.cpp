#include "module/gateway/change_tracker.hpp"

#include <string>

#include "module/gateway/engine.hpp"
#include "module/redis/protocol/changed_names.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::gateway {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetry{250};
/// The loss of a subscription is noticed within two seconds, and a change is recorded with the time
/// at which its command began. The clocks of two masters may differ.
constexpr milliseconds kMargin = std::chrono::minutes(1);
/// Changes are recorded for an hour.
constexpr milliseconds kLongest = std::chrono::hours(1) - 2 * kMargin;

}  // namespace

class ChangeTracker::Reply final : public redis::ReplyHandler {
  public:
    Reply(ChangeTracker& tracker, SteadyTime subscribed)
        : tracker_(tracker), subscribed_(subscribed) {}

    void on_values(std::span<const redisReply* const> values) noexcept override {
        if (is_current() && !attempt(log(), [&] { tracker_.take(values); })) {
            tracker_.forget(subscribed_);
        }
    }
    void on_error(std::string_view message) noexcept override {
        if (is_current()) {
            attempt(log(), [&] { tracker_.refuse(message); });
            tracker_.forget(subscribed_);
        }
    }
    void on_failure() noexcept override {
        if (is_current()) {
            tracker_.retry_->start(kRetry);
        }
    }

  private:
    /// Whether the subscription is still the one for which the changes were read.
    bool is_current() const { return tracker_.subscribed_ == subscribed_; }
    Log& log() const { return tracker_.engine_.log(); }

    ChangeTracker& tracker_;
    SteadyTime subscribed_;
};

ChangeTracker::ChangeTracker(Engine& engine)
    : engine_(engine), retry_(engine.make_timer([this] { read(); })) {}

std::optional<SteadyTime> ChangeTracker::complete_since() const {
    return is_complete_ ? since_ : std::nullopt;
}

/// Throws std::runtime_error if OpenSSL fails.
void ChangeTracker::note(std::string_view name) const {
    const LockedNode node(engine_.zone());
    node.changes().note(engine_.settings().name_hash, name, engine_.steady_time());
}

void ChangeTracker::on_change(std::string_view name) noexcept {
    if (!attempt(engine_.log(), [&] { note(name); }) && is_complete_) {
        forget(engine_.steady_time());
    }
}

void ChangeTracker::on_subscribed(bool is_subscribed) noexcept {
    const SteadyTime now = engine_.steady_time();
    if (!is_subscribed) {
        retry_->cancel();
        // While the missed changes are being read, the loss before still counts.
        lost_ = is_complete_ ? now : lost_;
        is_complete_ = false;
        subscribed_.reset();
        return;
    }
    subscribed_ = now;
    if (since_ && now - lost_ < kLongest) {
        read();
    } else {
        forget(now);
    }
}

/// Asks Redis which records have changed since the subscription was lost.
void ChangeTracker::read() noexcept {
    const bool is_sent = attempt(engine_.log(), [&] {
        const std::string key = engine_.settings().keys.changes();
        redis::Call call{&redis::changes_script(), {key}};
        call.arguments.add((engine_.steady_time() - lost_ + kMargin).count());
        engine_.transport().run(engine_.slot_of_key(key), std::move(call),
                                std::make_unique<Reply>(*this, *subscribed_));
    });
    if (!is_sent) {
        forget(*subscribed_);
    }
}

void ChangeTracker::take(std::span<const redisReply* const> values) {
    if (values.size() == 1 && values[0]->type == REDIS_REPLY_STRING) {
        refuse(redis::text_of(*values[0]));
        forget(*subscribed_);
        return;
    }
    const auto names = redis::read_changed_names(values);
    if (!names) {
        forget(*subscribed_);
        return;
    }
    for (const auto name : *names) {
        note(name);
    }
    is_complete_ = true;
}

/// Records that were cached until then are looked up again.
void ChangeTracker::forget(SteadyTime until) noexcept {
    since_ = until;
    is_complete_ = true;
}

void ChangeTracker::refuse(std::string_view message) {
    engine_.log_refusal(
        LogLevel::kWarning,
        "missed changes cannot be read; all cached keys are looked up again: ", message);
}

}  // namespace tollgate::gateway
