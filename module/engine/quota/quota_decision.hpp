#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "module/engine/quota/acquire_waiter.hpp"
#include "module/engine/quota/loaded_states.hpp"
#include "module/engine/quota/worker_quota.hpp"

namespace tollgate::engine {

struct QuotaParts;

/// Decides one request by the quotas of its key, as far as the node can: in the worker's own
/// memory, by the counts and leases in the zone, or alone in an outage.
class QuotaDecision {
  public:
    /// What the decision has to know of the key.
    struct Key {
        /// What the worker keeps of the quotas; nullptr: nothing.
        WorkerQuota* kept = nullptr;
        /// If `kept`: when a change of the key or of its id was last noticed; 0: never.
        SteadyTime changed{};
        /// Whether the request may be counted while Redis is unreachable.
        bool may_count_alone = false;
    };
    /// What the request asks of its quotas: see Demand.
    struct Asked {
        Cost cost;
        bool refusals_strike = false;
        const std::optional<BanPolicy>& ban;  ///< of keys with limits
    };

    /// The parts must outlive it.
    explicit QuotaDecision(QuotaParts& parts) : parts_(parts) {}

    /// Begins with the quotas of this request, whose texts must outlive this object. Without
    /// quotas, nothing may follow.
    void begin(AcquireRequest request, const Key& key);
    /// What the request asks of the quotas.
    void set_demand(const Asked& asked);
    /// The request waits. Meanwhile another one may give what the worker keeps to another key.
    void forget_kept() noexcept { key_.kept = nullptr; }
    /// Lets Redis decide. The waiter, which must not wait already, gets one callback, not before
    /// this returns. Throws std::bad_alloc; then it does not wait.
    void ask(AcquireWaiter& waiter);
    /// Redis may have counted a strike for the request: no refusal of it is a further one.
    void end_strikes() { request_.demand.refusals_strike = false; }

    /// nullptr if they were not chosen; may have no table.
    std::shared_ptr<const Quotas>& quotas() { return request_.quotas; }
    /// Whether the key's plan has no limits in all tables, and its units are counted for a history.
    /// Such a request is granted without Redis.
    bool is_only_counted() const;
    /// What Redis has to decide.
    const AcquireRequest& request() const { return request_; }

    /// Decides the request. LocalAnswer::kAsk: Redis must decide. Throws std::bad_alloc.
    Decision decide(ExactSteadyTime time);
    /// Decides the request after a call for its id, whose lease may serve it. LocalAnswer::kAsk:
    /// Redis must decide. Throws std::bad_alloc.
    Decision decide_again();
    /// The windows as they are; decides and counts nothing. Throws std::bad_alloc.
    Decision look() const;
    /// Decides while Redis is unreachable. The units are reported when it is back.
    /// LocalAnswer::kAsk: the zone has no room for them. Throws std::bad_alloc.
    Decision decide_alone();

    /// See settle_cost. The quotas are those that were chosen. Throws std::bad_alloc.
    void settle(std::shared_ptr<const Quotas> quotas, std::span<const WindowCount> counting,
                const Cost& reserved, const Cost& used) const;

  private:
    SteadyTime last_change() const;
    ClockBounds clock_bounds(ExactSteadyTime time) const;
    bool spends_slice(WorkerQuota& kept, ExactSteadyTime now) const;
    Decision take_from_slice(const WorkerQuota& kept, ExactSteadyTime now) const;
    Decision repeat(RecentRefusal& refusal, ExactSteadyTime now) const;
    void note_place(TablePosition place);
    bool needs_only_redis();
    bool return_slice(WorkerQuota& kept, LoadedStates& states, SteadyTime now) const;
    Decision decide_in_zone(WorkerQuota* kept, const ClockBounds& now);
    Decision decide(LoadedStates& states, WorkerQuota* kept, bool is_changed,
                    const ClockBounds& now);
    void renew_lease() const noexcept;
    bool counts_alone() const;
    Decision count_alone(LoadedStates& states, const ClockBounds& now);
    Decision describe(LocalAnswer answer, const LoadedStates& states,
                      const ClockBounds& time) const;

    QuotaParts& parts_;
    AcquireRequest request_;
    Key key_;
    bool is_renewal_due_ = false;  ///< of the lease that has granted the request
};

}  // namespace tollgate::engine
