#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "module/gateway/environment.hpp"
#include "module/quota/redis_clock.hpp"

struct redisReply;

namespace tollgate::gateway {

class Engine;

/// Knows since when this worker has heard of every change of a record. A worker subscribes to the
/// channel `events`, and misses messages while the subscription is lost. Once it is restored, the
/// tracker reads the missed changes in Redis (Keys::changes), so that other cached records need no
/// look-up.
class ChangeTracker {
  public:
    /// Not subscribed at first. The engine must outlive it.
    explicit ChangeTracker(Engine& engine);
    ~ChangeTracker() = default;
    ChangeTracker(const ChangeTracker&) = delete;
    ChangeTracker& operator=(const ChangeTracker&) = delete;

    /// The subscription was established, or is lost.
    void on_subscribed(bool is_subscribed) noexcept;
    /// The channel announced a change of this id or digest.
    void on_change(std::string_view name) noexcept;

    /// A record that is newer than this is the current one; nullopt while changes may be missed.
    std::optional<SteadyTime> complete_since() const;

  private:
    class Reply;

    void note(std::string_view name) const;
    void read() noexcept;
    void take(std::span<const redisReply* const> values);
    void forget(SteadyTime until) noexcept;
    void refuse(std::string_view message);

    Engine& engine_;
    std::optional<SteadyTime> subscribed_;  ///< when; nothing while the subscription is lost
    SteadyTime lost_{};                     ///< when it was lost last
    bool is_complete_ = false;              ///< no change since since_ was missed
    std::optional<SteadyTime> since_;
    std::unique_ptr<Timer> retry_;
};

}  // namespace tollgate::gateway
