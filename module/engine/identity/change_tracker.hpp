#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "module/engine/engine_context.hpp"
#include "module/engine/identity/node_subscription.hpp"
#include "module/engine/node_call.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::engine {

/// Knows since when this worker has heard of every change of a record. One worker of the node
/// subscribes to the channel `events` (see NodeSubscription), and notes changes in the zone. The
/// node misses messages while it has no subscription. Once it is restored, the subscriber's tracker
/// reads the missed changes in Redis (Keys::changes), so that other cached records need no look-up.
/// If they are not known, no worker of the node trusts the records that were cached until then:
/// any of them may have put some of them into the zone.
class ChangeTracker final : private Pinned, private NodeSubscription::Owner {
  public:
    /// Not subscribed at first. The context must outlive it.
    explicit ChangeTracker(EngineContext& context);

    /// The subscription of the node, as this worker takes part in it.
    NodeSubscription& subscription() { return subscription_; }
    /// The subscription of this worker was established, or is lost.
    void on_subscribed(bool is_subscribed) noexcept;
    /// The channel announced a change of this id or digest.
    void on_change(std::string_view name) noexcept;
    /// Calls go to another master than before; `master` names it. Look-ups until now may have
    /// missed changes that were made there.
    void on_moved(std::uint32_t master) noexcept;

    /// A record that is newer than this is the current one, unless a change was noted; nullopt
    /// while changes may be missed.
    std::optional<SteadyTime> complete_since(SteadyTime now) const {
        return is_introduced_ && !has_moved_ && subscription_.is_complete(now)
                   ? std::optional(SteadyTime(shared_.forgotten_until.value()))
                   : std::nullopt;
    }
    /// Whether a record that Redis gave at `checked` may be used without asking again: for
    /// `key_cache` if the node has had a subscription since then, otherwise for at most one second.
    bool is_fresh(SteadyTime checked, SteadyTime now) const;

  private:
    class Reply;
    /// A part of the missed changes.
    struct Page {
        int number = 1;
        std::string start{};  ///< see redis::ChangedNames::next
    };

    void on_replaced() noexcept override;
    void on_late() noexcept override { on_subscribed(true); }
    bool is_informed(SteadyTime now) noexcept override;
    void begin_gap() noexcept;
    void read() noexcept;
    void read_page(const Page& page);
    void take(const Page& page, ExactSteadyTime sent, redis::ReplyValues values);
    void forget_gap() noexcept;
    void end_gap() noexcept;
    void forget(SteadyTime until) noexcept;

    EngineContext& context_;
    NodeCall calls_;
    SharedRedis& shared_;
    SteadyTime started_;
    /// What former workers knew of their masters is forgotten: see is_informed().
    bool is_introduced_ = false;
    bool is_subscribed_ = false;  ///< for the node: this worker has a claim
    bool has_moved_ = false;      ///< this worker, and has not read what it missed
    SteadyTime moved_{};          ///< when it did so first
    SteadyTime gap_ended_{};      ///< when the worker subscribed, or moved
    std::uint64_t reading_ = 0;   ///< the number of the last reading of changes
    std::unique_ptr<Timer> retry_;
    NodeSubscription subscription_;  ///< uses the members above
};

}  // namespace tollgate::engine
