#pragma once

#include <cstdint>

#include "module/quota/redis_clock.hpp"
#include "module/report/counter.hpp"

namespace tollgate {

/// Which worker of a node holds the node's subscription to the changes of a Redis, and what the
/// other workers may rely on. One worker is the subscriber. It says again and again that it hears
/// of every change. If it is silent, has ended or is leaving, another worker is the candidate: it
/// subscribes, reads the changes that were missed, and is then the subscriber. Each claim of a
/// worker has a number of its own: one that is no longer stored has been replaced, whatever its
/// worker does.
///
/// Memory that workers share, all zeros at first. The caller of the functions that change it holds
/// a lock. Reading needs none, unless it is said.
class SharedSubscription {
  public:
    /// How long the other workers rely on a subscriber, or wait for a candidate, that is silent.
    static constexpr SteadyTime kTrusted{1500};
    /// The number of a claim. 0: none.
    using Claim = std::uint64_t;
    /// A worker, as the others see it.
    struct Claimant {
        std::uint32_t process = 0;
        bool is_leaving = false;   ///< a graceful shutdown of it has begun
        std::uint32_t master = 0;  ///< names the server that its calls go to; 0: not known
    };

    /// Whether the node hears of every change, and has noted all that were missed before.
    bool is_complete(SteadyTime now) const { return now.count() < complete_until_.value(); }
    /// The process of the subscriber; 0: there is none.
    std::uint32_t subscriber() const { return subscriber_process_.value(); }
    /// Whether the subscriber is leaving. Another worker then replaces it without a gap.
    bool is_leaving() const { return is_leaving_.value() != 0; }

    /// Whether this worker can rely on the subscriber. `is_alive` tells whether a process is alive.
    template <typename IsAlive>
    bool serves(const Claimant& worker, SteadyTime now, IsAlive is_alive) const {
        return is_complete(now) && is_alive(subscriber()) && (!is_leaving() || worker.is_leaving);
    }
    /// Whether the node needs this worker as a candidate. `is_alive` is that of serves(). Needs the
    /// lock.
    template <typename IsAlive>
    bool needs(const Claimant& worker, SteadyTime now, IsAlive is_alive) const {
        const bool is_served = subscriber_ != 0 && serves(worker, now, is_alive);
        const bool is_tried = candidate_ != 0 && now - candidate_seen_ < kTrusted &&
                              is_alive(candidate_worker_.process) &&
                              (!candidate_worker_.is_leaving || worker.is_leaving);
        return !is_served && !is_tried;
    }
    /// This worker is the candidate from now on, in place of another one. The subscriber, if it is
    /// alive, remains until then: see elect().
    Claim stand(const Claimant& worker, bool subscriber_is_alive, SteadyTime now);
    /// The candidate or the subscriber with this claim says that it is there. Of a subscriber, all
    /// changes until now are noted, or will be in this turn. False if another worker has replaced
    /// it.
    bool keep(Claim claim, bool is_leaving, SteadyTime now);
    /// The candidate with this claim is the subscriber: all changes until now are noted. False if
    /// another worker has replaced it.
    bool elect(Claim claim, SteadyTime now);
    /// Changes may be missed from now on. The subscriber with this claim is a candidate again,
    /// unless there is another one. False if this claim is no longer stored.
    bool interrupt(Claim claim, SteadyTime now);
    /// The worker with this claim gives it up.
    void leave(Claim claim);

    /// The calls of `worker`, which has the claim `own` or 0, go to another master than before.
    /// Changes may have been missed there for as long as they are recorded. Returns the worker's
    /// claim: as a candidate that subscribes there, unless another worker does so. Then 0.
    Claim move(Claim own, const Claimant& worker, SteadyTime now);
    /// Whether the master has changed since changes were last known to be complete. Needs the lock.
    bool has_moved() const { return has_moved_; }
    /// When a worker last stood as a candidate. Needs the lock.
    SteadyTime claimed() const { return claimed_; }
    /// All changes until then are noted; 0: there was no subscriber yet. Needs the lock.
    SteadyTime known_until() const { return known_until_; }
    /// Whether this is the claim of the subscriber. Needs the lock.
    bool is_subscriber(Claim claim) const { return claim != 0 && claim == subscriber_; }

  private:
    void dismiss();
    bool is_at(std::uint32_t master) const {
        return candidate_ != 0 ? candidate_worker_.master == master
                               : subscriber_ != 0 && subscriber_master_ == master;
    }

    SharedNumber<std::int64_t> complete_until_;  ///< in ms of the steady clock
    SharedNumber<std::uint32_t> subscriber_process_;
    SharedNumber<std::uint32_t> is_leaving_;
    Claim last_claim_ = 0;
    Claim subscriber_ = 0;
    Claim candidate_ = 0;
    Claimant candidate_worker_{};
    SteadyTime candidate_seen_{};
    SteadyTime claimed_{};
    SteadyTime known_until_{};
    std::uint32_t subscriber_master_ = 0;
    bool has_moved_ = false;
};

}  // namespace tollgate
