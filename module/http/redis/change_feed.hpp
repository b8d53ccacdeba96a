#pragma once

#include <optional>
#include <string_view>

#include "module/engine/engine.hpp"
#include "module/http/nginx.hpp"
#include "module/redis/io/subscription.hpp"

namespace tollgate::http {

/// The subscription to the channel `events` that a worker may have for its node. It tells the
/// worker's engine of changed keys and of recalls.
class ChangeFeed final : private engine::EventSource, private redis::MessageListener {
  public:
    /// Connects if the node needs it. All arguments must outlive it.
    ChangeFeed(const redis::Access& access, const redis::SocketAddresses& addresses,
               engine::Engine& engine, RedisWorkers& workers)
        : access_(access), addresses_(addresses), engine_(engine), workers_(workers) {
        engine.identity().changes.subscription().attach(this);
    }
    ~ChangeFeed() override { engine_.identity().changes.subscription().attach(nullptr); }
    ChangeFeed(const ChangeFeed&) = delete;
    ChangeFeed& operator=(const ChangeFeed&) = delete;

    /// The list of addresses has changed: see redis::Subscription.
    void follow_addresses() noexcept {
        if (subscription_) {
            subscription_->follow_addresses();
        }
    }

  private:
    void subscribe() noexcept override {
        attempt(engine_.log(), [&] {
            subscription_.emplace(access_, addresses_, engine_.settings().keys.events(),
                                  "key records are cached for one second",
                                  static_cast<redis::MessageListener&>(*this));
        });
    }
    void unsubscribe() noexcept override { subscription_.reset(); }
    void renew() noexcept override {
        if (subscription_) {
            subscription_->renew();
        }
    }
    bool is_refused() const noexcept override {
        return subscription_ && subscription_->was_refused();
    }
    void on_informed(bool is_informed) noexcept override {
        const WorkerProcess& worker = engine_.worker();
        WorkerSet& informed = workers_.subscribed;
        if (is_informed) {
            informed.insert(worker.number(), worker.process());
        } else {
            informed.erase(worker.number(), worker.process());
        }
    }
    void on_message(std::string_view text) noexcept override { engine_.on_event(text); }
    void on_subscribed(bool is_subscribed) noexcept override {
        engine_.identity().changes.on_subscribed(is_subscribed);
    }

    const redis::Access access_;
    const redis::SocketAddresses& addresses_;
    engine::Engine& engine_;
    RedisWorkers& workers_;
    std::optional<redis::Subscription> subscription_;
};

}  // namespace tollgate::http
