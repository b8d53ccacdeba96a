#pragma once

#include <optional>
#include <string_view>

#include "module/gateway/engine.hpp"
#include "module/http/nginx.hpp"
#include "module/redis/io/subscription.hpp"

namespace tollgate::http {

/// A worker's subscription to the channel `events`, which announces changed keys to its engine.
class ChangeFeed final : private redis::MessageListener {
  public:
    /// Begins to connect. All arguments must outlive it.
    ChangeFeed(const redis::Endpoint& endpoint, const redis::AddressList& addresses,
               redis::TlsPeer* tls, gateway::Engine& engine, ngx_log_t* log)
        : engine_(engine),
          subscription_(endpoint, addresses, tls, engine.settings().keys.events(),
                        "key records are cached for one second", *this, log) {}
    ~ChangeFeed() override { statistics().subscribed.erase(ngx_worker, this_process()); }
    ChangeFeed(const ChangeFeed&) = delete;
    ChangeFeed& operator=(const ChangeFeed&) = delete;

    redis::Subscription& subscription() { return subscription_; }
    /// See Transport::subscribed_since.
    std::optional<SteadyTime> since() const { return subscription_.standing_since(); }

  private:
    static std::uint32_t this_process() { return static_cast<std::uint32_t>(ngx_pid); }
    RedisStatistics& statistics() const { return engine_.statistics(); }

    void on_message(std::string_view text) noexcept override {
        if (!gateway::attempt(engine_.log(), [&] { engine_.note_change(text); })) {
            subscription_.renew();  // A change was missed; cached records are looked up again.
        }
    }
    void on_subscribed(bool is_subscribed) noexcept override {
        if (is_subscribed) {
            statistics().subscribed.insert(ngx_worker, this_process());
        } else {
            statistics().subscribed.erase(ngx_worker, this_process());
        }
    }

    gateway::Engine& engine_;
    redis::Subscription subscription_;
};

}  // namespace tollgate::http
