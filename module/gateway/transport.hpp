#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "module/quota/redis_clock.hpp"
#include "module/redis/protocol/pipeline.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::gateway {

/// Carries calls of scripts to one Redis, behind a circuit breaker. Once it is destroyed, handlers
/// are destroyed without being called.
class Transport {
  public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// Whether the breaker lets calls pass.
    virtual bool is_reachable() const noexcept = 0;
    /// Calls a script. If that fails at once, the handler's on_failure is called before this
    /// returns.
    virtual void run(redis::Call call, std::unique_ptr<redis::ReplyHandler> handler) noexcept = 0;
    /// Redis answered with this error, which concerns the server (redis::ErrorScope::kServer) but
    /// was found among the values of a reply. Counts as a failure of the server.
    virtual void refuse(std::string_view error) noexcept = 0;
    /// Since when the subscription to `events` has missed nothing; nullopt while it may miss
    /// messages.
    virtual std::optional<SteadyTime> subscribed_since() const noexcept = 0;
};

}  // namespace tollgate::gateway
