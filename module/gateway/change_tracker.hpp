#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "module/gateway/engine_context.hpp"
#include "module/gateway/node_call.hpp"
#include "module/gateway/zone.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::gateway {

/// Knows since when this worker has heard of every change of a record. A worker subscribes to the
/// channel `events`, and misses messages while the subscription is lost. Once it is restored, the
/// tracker reads the missed changes in Redis (Keys::changes), so that other cached records need no
/// look-up. If they are not known, no worker of the node trusts the records that were cached until
/// then: this worker may have put some of them into the zone.
class ChangeTracker : private Pinned {
  public:
    /// Not subscribed at first. The context must outlive it.
    explicit ChangeTracker(EngineContext& context);

    /// The subscription was established, or is lost.
    void on_subscribed(bool is_subscribed) noexcept;
    /// The channel announced a change of this id or digest.
    void on_change(std::string_view name) noexcept;
    /// Calls go to another master than before. Look-ups until now may have missed changes that were
    /// made there.
    void on_moved() noexcept;

    /// A record that is newer than this is the current one, unless a change was noted; nullopt
    /// while changes may be missed.
    std::optional<SteadyTime> complete_since() const {
        return is_complete_ ? std::optional(SteadyTime(shared_.forgotten_until.value()))
                            : std::nullopt;
    }
    /// Whether a record that Redis gave at `checked` may be used without asking again: for
    /// `key_cache` if the subscription has lasted since then, otherwise for at most one second.
    bool is_fresh(SteadyTime checked, SteadyTime now) const;

  private:
    class Reply;
    /// A part of the missed changes.
    struct Page {
        int number = 1;
        std::string start{};  ///< see redis::ChangedNames::next
    };

    void read() noexcept;
    void read_page(const Page& page);
    void take(const Page& page, ExactSteadyTime sent, redis::ReplyValues values);
    void begin_gap() noexcept;
    void forget_gap() noexcept;
    void forget(SteadyTime until) noexcept;

    EngineContext& context_;
    NodeCall calls_;
    SharedRedis& shared_;
    bool is_subscribed_ = false;
    bool was_subscribed_ = false;
    bool has_moved_ = false;     ///< in this gap
    bool is_complete_ = false;   ///< no change of a record that was not forgotten was missed
    SteadyTime gap_began_{};     ///< the last time when changes could be missed
    SteadyTime gap_ended_{};     ///< when the worker subscribed, or moved
    std::uint64_t reading_ = 0;  ///< the number of the last reading of changes
    std::unique_ptr<Timer> retry_;
};

}  // namespace tollgate::gateway
