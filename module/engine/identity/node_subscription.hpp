#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "module/engine/engine_context.hpp"
#include "module/zone/shared_subscription.hpp"

namespace tollgate::engine {

/// The connection on which a worker may hold the subscription of its node to the channel `events`.
class EventSource : private Pinned {
  public:
    virtual ~EventSource() = default;

    /// Begins to connect. ChangeTracker::on_subscribed follows, and Engine::on_event.
    virtual void subscribe() noexcept = 0;
    /// Closes the connection. No callback follows.
    virtual void unsubscribe() noexcept = 0;
    /// Replaces the connection, if there is one.
    virtual void renew() noexcept = 0;
    /// Whether Redis refuses the channel: other workers would not succeed either.
    virtual bool is_refused() const noexcept = 0;
    /// Whether this worker learns of changes at once, for the status.
    virtual void on_informed(bool is_informed) noexcept = 0;
};

/// A worker's part in the subscription of its node: see SharedSubscription. It looks four times a
/// second whether the subscriber is there, and becomes the candidate if the node needs one.
class NodeSubscription : private Pinned {
  public:
    /// What follows from it for this worker.
    class Owner {
      public:
        Owner() = default;
        Owner(const Owner&) = delete;
        Owner& operator=(const Owner&) = delete;
        virtual ~Owner() = default;

        /// This worker is no longer the candidate, or the subscriber: others read the changes that
        /// the node has missed.
        virtual void on_replaced() noexcept = 0;
        /// This worker was silent for too long as the subscriber: others do not rely on it.
        virtual void on_late() noexcept = 0;
        /// Whether the worker knows of all changes that concern it alone. Called again and again.
        virtual bool is_informed(SteadyTime now) noexcept = 0;
    };

    /// Has no source at first: then it never claims by itself. The arguments must outlive it.
    NodeSubscription(EngineContext& context, Owner& owner);

    /// Subscribes on this source, if the node needs it; nullptr: no more. The source must outlive
    /// its use.
    void attach(EventSource* source) noexcept;

    /// Whether the node hears of every change. Needs no lock.
    bool is_complete(SteadyTime now) const { return shared_.subscription.is_complete(now); }
    /// Whether this worker is the candidate or the subscriber, as far as it knows.
    bool is_claimed() const { return claim_ != 0; }

    /// The subscription of this worker was established, or is lost. Returns whether this worker has
    /// a claim: if it was established, the missed changes are then to be read.
    bool on_subscribed(bool is_subscribed) noexcept;
    /// The changes that the node has missed, until now.
    struct Gap {
        SteadyTime began{};      ///< 0: nothing is known of changes before
        bool has_moved = false;  ///< on a master that was the wrong one for an unknown time
    };
    Gap gap() const noexcept;
    /// They are noted: this worker is the subscriber.
    void elect() noexcept;
    /// Calls go to another master; `master` names it. Subscribes there, if no other worker does.
    void on_moved(std::uint32_t master) noexcept;
    /// Another server may publish changes since `refused`: the subscription is renewed, unless this
    /// was done since then.
    void renew(SteadyTime refused) noexcept;
    /// A graceful shutdown of this worker has begun: another one replaces it.
    void shut_down() noexcept;

  private:
    SharedSubscription::Claimant self() const;
    bool is_alive(std::uint32_t process) const;
    void run() noexcept;
    void keep(SteadyTime now) noexcept;
    void consider(SteadyTime now) noexcept;
    void take(SharedSubscription::Claim claim) noexcept;
    void give_up(SteadyTime now) noexcept;
    void release() noexcept;
    void tell(bool is_informed) noexcept;

    EngineContext& context_;
    Owner& owner_;
    SharedRedis& shared_;
    EventSource* source_ = nullptr;
    SharedSubscription::Claim claim_ = 0;
    bool is_connecting_ = false;  ///< the source was told to subscribe, and not to end it
    std::uint32_t master_ = 0;
    SteadyTime claimed_{};       ///< or when this worker ceased to be the subscriber
    SteadyTime not_before_{};    ///< until then it does not claim again
    SteadyTime needed_since_{};  ///< a worker that shuts down lets others come first; 0: not needed
    bool is_informed_ = false;   ///< as the source was told
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::engine
