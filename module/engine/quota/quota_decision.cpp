#include "module/engine/quota/quota_decision.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "module/engine/quota/quota_parts.hpp"
#include "module/quota/cost_settlement.hpp"
#include "module/quota/lease.hpp"
#include "module/quota/local_decision.hpp"
#include "module/quota/plain_acquire.hpp"
#include "module/quota/shown_windows.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::engine {

void QuotaDecision::begin(AcquireRequest request, const Key& key) {
    request_ = std::move(request);
    key_ = key;
}

void QuotaDecision::ask(AcquireWaiter& waiter) {
    forget_kept();
    parts_.acquires.submit(waiter, request_);
}

void QuotaDecision::set_demand(const Asked& asked) {
    request_.demand.cost = asked.cost;
    // A key without limits is never refused, also if its units are counted.
    request_.demand.ban = have_limit(*request_.quotas) ? asked.ban : std::nullopt;
    request_.demand.refusals_strike = asked.refusals_strike;
}

bool QuotaDecision::is_only_counted() const {
    return request_.quotas && !request_.quotas->empty() && !have_limit(*request_.quotas);
}

Decision QuotaDecision::decide(ExactSteadyTime time) {
    WorkerQuota* const kept = key_.kept;
    if (kept != nullptr) {
        if (spends_slice(*kept, time)) {
            return take_from_slice(*kept, time);
        }
        if (kept->refusal.applies_to(request_.demand, time)) {
            return repeat(kept->refusal, time);
        }
    }
    request_.demand.changed = last_change();
    if (needs_only_redis()) {
        return {};
    }
    Decision decision = decide_in_zone(kept, clock_bounds(time));
    if (kept != nullptr) {
        kept->is_plain = request_.is_plain;
    }
    if (std::exchange(is_renewal_due_, false)) {
        renew_lease();
    }
    return decision;
}

/// Whether the worker's slice grants the request.
bool QuotaDecision::spends_slice(WorkerQuota& kept, ExactSteadyTime now) const {
    const Cost& cost = request_.demand.cost;
    if (!kept.slice.serves(cost)) {
        return false;
    }
    return cost.steps() > 0 ? kept.slice.spend(cost.steps(), now)
                            : !cost.needs_nothing() && kept.slice.has_unit(now);
}

/// The time of the last change of the key, of its id, or of its group, whichever is latest.
SteadyTime QuotaDecision::last_change() const {
    const Zone& zone = parts_.context.zone();
    if (key_.kept == nullptr) {
        return request_.last_change(zone, parts_.context.settings().name_hash);
    }
    return request_.group_key == 0
               ? key_.changed
               : std::max(key_.changed, zone.last_change_of(request_.group_key));
}

Decision QuotaDecision::decide_in_zone(WorkerQuota* kept, const ClockBounds& now) {
    const LockedStripe stripe(parts_.context.zone(), request_.id_hash);
    LoadedStates states(stripe, parts_.context, parts_.unstored, request_);
    note_place(states.place());
    const bool is_changed = kept != nullptr && return_slice(*kept, states, now.steady);
    Decision decision = decide(states, kept, is_changed, now);
    is_renewal_due_ = decision.answer == LocalAnswer::kGranted &&
                      renewal_size(states, *request_.quotas, request_.demand, now) > 0;
    if (decision.answer == LocalAnswer::kAsk && is_changed) {
        states.save(now.steady);
    }
    if (decision.answer == LocalAnswer::kAsk && counts_alone()) {
        return count_alone(states, now);  // The states are loaded, under the lock.
    }
    return decision;
}

/// The next requests of the key look there first, and what follows of this one.
void QuotaDecision::note_place(TablePosition place) {
    request_.place = place;
    if (WorkerQuota* const kept = key_.kept) {
        kept->place = place;
    }
}

/// Whether it is certain, without loading the quota, that decide_in_zone() would answer
/// LocalAnswer::kAsk and change nothing. Most keys are rare: this is tried for keys that the worker
/// does not know or that were plain before, and takes less than half of the time.
bool QuotaDecision::needs_only_redis() {
    const WorkerQuota* const kept = key_.kept;
    if ((kept != nullptr && (!kept->is_plain || kept->refusal.has_repeated())) ||
        request_.quotas->size() != 1 || request_.demand.ban ||
        !parts_.context.transport().is_reachable(parts_.context.slot_of(request_.slot_text()))) {
        return false;
    }
    const TableQuota& quota = request_.quotas->front();
    const QuotaCache::Key key = request_.place_of(quota, parts_.context.settings().name_hash);
    if (!key.is_small) {
        return false;
    }
    TablePosition place = request_.place;
    {
        const LockedStripe stripe(parts_.context.zone(), request_.id_hash);
        request_.is_plain =
            stripe.quotas().is_plain(key, quota, request_.demand.cost.of(0).units, place);
    }
    note_place(place);
    return request_.is_plain;
}

Decision QuotaDecision::decide_again() {
    const ClockBounds now = clock_bounds(parts_.context.clock().steady());
    const LockedStripe stripe(parts_.context.zone(), request_.id_hash);
    LoadedStates states(stripe, parts_.context, parts_.unstored, request_);
    return decide(states, nullptr, false, now);
}

Decision QuotaDecision::look() const {
    const ClockBounds time = clock_bounds(parts_.context.clock().steady());
    const LockedStripe stripe(parts_.context.zone(), request_.id_hash);
    const LoadedStates states(stripe, parts_.context, parts_.unstored, request_);
    const ClockBounds now = no_earlier_than_replies(time, states);
    Decision shown;
    shown.windows = windows_of(states, *request_.quotas, now, request_.demand.cost, false);
    shown.now = now.exact;
    return shown;
}

Decision QuotaDecision::decide_alone() {
    const ClockBounds now = clock_bounds(parts_.context.clock().steady());
    const LockedStripe stripe(parts_.context.zone(), request_.id_hash);
    LoadedStates states(stripe, parts_.context, parts_.unstored, request_);
    note_place(states.place());
    return count_alone(states, now);
}

/// The bounds of the clock that counts the id's quotas. Not to be called with a lock of the zone:
/// the clock of a master that is new to this worker is found under another one.
ClockBounds QuotaDecision::clock_bounds(ExactSteadyTime time) const {
    return parts_.context.clock_bounds(parts_.context.slot_of(request_.slot_text()), time);
}

Decision QuotaDecision::take_from_slice(const WorkerQuota& kept, ExactSteadyTime now) const {
    RedisStatistics& statistics = parts_.context.statistics();
    statistics["quota_decisions.lease"].add();
    const Cost& cost = request_.demand.cost;
    statistics["lease_units.spent"].add(static_cast<std::uint64_t>(
        cost.steps() * cost.units_of_step_in_all(request_.quotas->size())));
    Decision decision{.answer = LocalAnswer::kGranted,
                      .windows = kept.slice.windows(),
                      .now = kept.slice.redis_time(now),
                      .banned_until = {}};
    if (cost.settles()) {
        decision.counting = kept.slice.counting();
    }
    return decision;
}

Decision QuotaDecision::repeat(RecentRefusal& refusal, ExactSteadyTime now) const {
    parts_.context.statistics()["quota_decisions.refusal"].add();
    refusal.repeat();
    return {.answer = refusal.answer(),
            .windows = {refusal.windows().begin(), refusal.windows().end()},
            .now = refusal.redis_time(now),
            .banned_until = refusal.banned_until()};
}

/// Returns the worker's slice, and adds the refusals that the worker has repeated. False if there
/// is nothing of both.
bool QuotaDecision::return_slice(WorkerQuota& kept, LoadedStates& states, SteadyTime now) const {
    const std::int64_t refused = kept.refusal.take_count();
    if (refused == 0 && !kept.slice.is_taken()) {
        return false;
    }
    if (refused > 0) {
        note_arrivals(states, *request_.quotas, request_.demand, refused, now);
    }
    kept.slice.end(states, *request_.quotas, request_.demand, now);
    return true;
}

/// Lets the worker decide the next requests of a known key in its own memory: from a slice of the
/// lease that has granted this one, or by repeating the refusal.
/// `is_changed`: what is loaded has changed since.
Decision QuotaDecision::decide(LoadedStates& states, WorkerQuota* kept, bool is_changed,
                               const ClockBounds& now) {
    const LocalAnswer answer = tollgate::decide(states, *request_.quotas, request_.demand, now);
    if (answer == LocalAnswer::kAsk) {
        request_.is_plain = is_plain(states, *request_.quotas, request_.demand);
        return {};  // The acquire notes the arrival.
    }
    Decision decision = describe(answer, states, now);
    note_arrivals(states, *request_.quotas, request_.demand, 1, now.steady);
    if (kept != nullptr) {
        ClockBounds shown = now;
        shown.exact = decision.now;
        if (answer == LocalAnswer::kGranted && kept->slice.prepare(request_.demand.cost)) {
            parts_.slices.take(*kept, states, decision.windows, shown);
        } else if (answer != LocalAnswer::kGranted) {
            kept->refusal.set(answer, request_.demand, states, decision.windows, shown);
        }
    }
    const bool has_slice = kept != nullptr && kept->slice.is_taken();
    if (answer == LocalAnswer::kGranted && !is_changed && !has_slice) {
        states.save_spent(now.steady);
    } else {
        states.save(now.steady);
    }
    RedisStatistics& statistics = parts_.context.statistics();
    (answer == LocalAnswer::kGranted ? statistics["quota_decisions.lease"]
                                     : statistics["quota_decisions.refusal"])
        .add();
    return decision;
}

/// A request that comes later does not wait for Redis. A worker that is exiting waits for its last
/// calls, but not for a renewal.
void QuotaDecision::renew_lease() const noexcept {
    if (!parts_.context.worker().is_exiting() &&
        parts_.context.transport().is_reachable(parts_.context.slot_of(request_.slot_text()))) {
        parts_.acquires.renew_lease(request_);
    }
}

/// Whether the node decides this request alone if Redis has to.
bool QuotaDecision::counts_alone() const {
    return key_.may_count_alone &&
           (parts_.context.settings().on_failure == FailurePolicy::kLocal || is_only_counted()) &&
           !parts_.context.transport().is_reachable(parts_.context.slot_of(request_.slot_text()));
}

Decision QuotaDecision::count_alone(LoadedStates& states, const ClockBounds& now) {
    states.share_among(parts_.context.nodes());
    note_arrivals(states, *request_.quotas, request_.demand, 1, now.steady);
    const auto answer = tollgate::decide_alone(states, *request_.quotas, request_.demand, now);
    Decision decision = describe(answer, states, now);
    decision.is_alone = true;
    if (answer != LocalAnswer::kGranted) {
        states.save(now.steady);
    } else if (!states.save_all_or_none(now.steady)) {
        return {};
    }
    parts_.context.statistics()["quota_decisions.alone"].add();
    return decision;
}

Decision QuotaDecision::describe(LocalAnswer answer, const LoadedStates& states,
                                 const ClockBounds& time) const {
    const std::span<const QuotaState> shown = states;
    const ClockBounds now = no_earlier_than_replies(time, shown);
    const Quotas& quotas = *request_.quotas;
    const Cost& cost = request_.demand.cost;
    const bool is_granted = answer == LocalAnswer::kGranted;
    Decision decision{.answer = answer,
                      .windows = is_granted ? granted_windows(shown, quotas, now.earliest, cost)
                                            : windows_of(shown, quotas, now, cost, true),
                      .now = now.exact,
                      .banned_until = shown.front().ban.until};
    if (cost.settles() && is_granted) {
        decision.counting = counting_windows(shown, quotas, time);
    }
    return decision;
}

void QuotaDecision::settle(std::shared_ptr<const Quotas> quotas,
                           std::span<const WindowCount> counting, const Cost& reserved,
                           const Cost& used) const {
    AcquireRequest request = request_;
    request.quotas = std::move(quotas);
    const ClockBounds now = clock_bounds(parts_.context.clock().steady());
    const std::uint32_t redis = parts_.context.settings().name_hash;
    {
        const LockedStripe stripe(parts_.context.zone(), request.id_hash);
        LoadedStates states(stripe, parts_.context, parts_.unstored, request);
        const SteadyTime recalled = parts_.context.zone().last_recall(
            redis, request.id_hash, request.id_of_group(), *request.quotas);
        settle_cost(states, *request.quotas, counting, reserved, used,
                    is_recalled(*request.quotas, recalled, now), now);
        states.save(now.steady);
    }
    parts_.settlement.settle_if_left(request);
}

}  // namespace tollgate::engine
