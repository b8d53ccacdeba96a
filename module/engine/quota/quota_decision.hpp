#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "module/engine/identity/authenticator.hpp"
#include "module/engine/identity/group_finder.hpp"
#include "module/engine/quota/acquire_waiter.hpp"
#include "module/engine/quota/loaded_states.hpp"

namespace tollgate::engine {

/// Decides one request by the quotas of its key, as far as the node can: in the worker's own
/// memory, by the counts and leases in the zone, or alone in an outage.
class QuotaDecision {
  public:
    /// All must outlive it.
    QuotaDecision(TableSet& tables, Authenticator& key, const GroupFinder& group)
        : tables_(tables), key_(key), group_(group) {}

    /// Chooses the quotas of the key with this record, which must outlive this object, of its group
    /// if that is needed, and of the values of the request. False if its plan is not in every
    /// table, or its limits are invalid. Throws std::bad_alloc.
    bool choose(const std::shared_ptr<const KeyRecord>& record, ValueSource& values);
    /// What the request asks of them. `settles`: see Demand.
    void set_demand(std::int64_t cost, bool refusals_strike, bool settles);
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
                std::int64_t units) const;

  private:
    Engine& engine() const { return tables_.engine(); }

    std::shared_ptr<const Quotas> quotas_of_key() const;
    void choose_with_group(const KeyRecord& record);
    SteadyTime last_change() const;
    void choose_by_values(const std::shared_ptr<const KeyRecord>& record, ValueSource& source);

    ClockBounds clock_bounds(ExactSteadyTime time) const;
    Decision take_from_slice(const KnownKey& known, ExactSteadyTime now) const;
    Decision repeat(RecentRefusal& refusal, ExactSteadyTime now) const;
    void note_place(TablePosition place);
    bool needs_only_redis();
    bool return_slice(KnownKey& known, LoadedStates& states, SteadyTime now) const;
    Decision decide_in_zone(KnownKey* known, const ClockBounds& now);
    Decision decide(LoadedStates& states, KnownKey* known, bool is_changed, const ClockBounds& now);
    void renew_lease() const noexcept;
    bool counts_alone() const;
    Decision count_alone(LoadedStates& states, const ClockBounds& now);
    Decision describe(LocalAnswer answer, const LoadedStates& states,
                      const ClockBounds& time) const;

    TableSet& tables_;
    Authenticator& key_;
    const GroupFinder& group_;
    AcquireRequest request_;
    const KeyRecord* record_ = nullptr;
    bool is_renewal_due_ = false;  ///< of the lease that has granted the request
};

}  // namespace tollgate::engine
