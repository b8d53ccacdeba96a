#pragma once

#include <memory>
#include <vector>

#include "module/engine/engine_context.hpp"
#include "module/engine/quota/worker_quota.hpp"

namespace tollgate::engine {

class LoadedStates;
class UnitKeeper;

/// The slices of the quotas that a worker keeps: takes them from the leases in the zone, and
/// returns what is left when they end, also if no request comes. Looks in the zone for recalls,
/// which only one worker of the node receives, while there are slices.
class Slices {
  public:
    /// Settles what the slices leave.
    class Settler {
      public:
        virtual ~Settler() = default;
        /// The slice of the quotas of this request was returned to the zone. Throws std::bad_alloc.
        virtual void settle_if_left(const AcquireRequest& request) = 0;
        /// A recall was noted in the zone at this time, and the slices that it concerns were
        /// returned.
        virtual void begin_pass(SteadyTime recalled) noexcept = 0;
    };

    /// The arguments must outlive it. set_settler() must follow before anything else is called.
    Slices(EngineContext& context, UnitKeeper& keeper);
    /// The settler must live until no function is called any more.
    void set_settler(Settler& settler) noexcept { settler_ = &settler; }
    /// shut_down() must have been called while all quotas still existed.
    ~Slices() = default;
    Slices(const Slices&) = delete;
    Slices& operator=(const Slices&) = delete;

    /// Takes a slice for a quota of which a request was granted just now from a lease in these
    /// states. `shown` are the windows that the request shows. No effect if the quota has few
    /// requests, if this worker is shutting down, or if memory is short. The quota must remain
    /// where it is, until end() or for ever.
    void take(WorkerQuota& quota, LoadedStates& states, std::span<const WindowState> shown,
              const ClockBounds& now) noexcept;

    /// Returns the rest of the slice of a quota to the zone. The quota may then be replaced.
    void end(WorkerQuota& quota) noexcept;
    /// Returns the slices of all quotas of an id or a group, unless there are too many slices to
    /// look for them.
    void end(const IdHash& id) noexcept;
    /// Returns all slices. A graceful shutdown has begun: no slice is taken any more.
    void shut_down() noexcept;

  private:
    void end_all() noexcept;
    void on_timer() noexcept;
    void end_recalled(SteadyTime now) noexcept;
    void end_expired(SteadyTime now) noexcept;
    template <typename Ends>
    void end_those(Ends ends) noexcept;
    void return_slice(WorkerQuota& quota);

    EngineContext& context_;
    UnitKeeper& keeper_;
    Settler* settler_ = nullptr;
    std::vector<WorkerQuota*> active_;  ///< quotas that may have a slice: those that are watched
    std::size_t next_ = 0;  ///< this pass is still to visit so many, from the beginning; 0: none
    SteadyTime expired_looked_{};  ///< when the last such pass began
    SteadyTime recalls_looked_{};  ///< when recalls were last looked for
    bool is_shutting_down_ = false;
    bool is_waiting_ = false;  ///< the timer runs
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::engine
