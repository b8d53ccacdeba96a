#pragma once

#include <string_view>

#include "module/gateway/engine.hpp"
#include "module/http/nginx.hpp"
#include "module/redis/io/subscription.hpp"

namespace tollgate::http {

/// A worker's subscription to the channel `events`, which announces changed keys to its engine.
class ChangeFeed final : private redis::MessageListener {
  public:
    /// Begins to connect. All arguments must outlive it.
    ChangeFeed(const redis::Access& access, const redis::SocketAddresses& addresses,
               gateway::Engine& engine, RedisWorkers& workers)
        : engine_(engine),
          workers_(workers),
          subscription_(access, addresses, engine.settings().keys.events(),
                        "key records are cached for one second", *this) {}
    ~ChangeFeed() override { ChangeFeed::on_subscribed(false); }
    ChangeFeed(const ChangeFeed&) = delete;
    ChangeFeed& operator=(const ChangeFeed&) = delete;

    redis::Subscription& subscription() { return subscription_; }

  private:
    void on_message(std::string_view text) noexcept override { engine_.on_event(text); }
    void on_subscribed(bool is_subscribed) noexcept override {
        const gateway::WorkerProcess& worker = engine_.worker();
        WorkerSet& subscribed = workers_.subscribed;
        if (is_subscribed) {
            subscribed.insert(worker.number(), worker.process());
        } else {
            subscribed.erase(worker.number(), worker.process());
        }
        engine_.changes().on_subscribed(is_subscribed);
    }

    gateway::Engine& engine_;
    RedisWorkers& workers_;
    redis::Subscription subscription_;
};

}  // namespace tollgate::http
