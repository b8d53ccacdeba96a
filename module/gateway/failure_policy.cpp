// The steps of Admission while Redis is out of reach: `on_failure` applies.

#include "module/gateway/admission.hpp"
#include "module/gateway/engine.hpp"
#include "module/gateway/loaded_states.hpp"
#include "module/quota/outage.hpp"

namespace tollgate::gateway {

/// Applies `on_failure` because Redis can't be asked.
void Admission::apply_failure_policy() {
    const FailurePolicy policy = engine().settings().on_failure;
    if (is_known_) {
        note_use();
    }
    if (!is_known_ || options_.checks_key_only ||
        (policy == FailurePolicy::kDeny && !is_only_counted())) {
        refuse_unavailable();
    } else if (const auto refusal = refusal_in(tables_, options_.scopes)) {
        forbid(*refusal);
    } else if (policy == FailurePolicy::kAllow && !(choose_quotas() && is_only_counted())) {
        grant(Verdict::kDegraded);
    } else {
        decide_in_outage();
    }
}

/// Whether the key's plan has no limits in all tables, and its units are counted for a history.
/// Such a request is granted without Redis.
bool Admission::is_only_counted() const {
    return request_.quotas && !request_.quotas->empty() && !have_limit(*request_.quotas);
}

/// Counts in the zone; the units are reported when Redis is back. If the zone has no room for them,
/// the request is refused.
void Admission::decide_in_outage() {
    if (!options_.cost) {
        cost_ = client_.cost();
    }
    if (!choose_quotas()) {
        forbid(kPlanNotAllowed);
        return;
    }
    if (request_.quotas->empty()) {
        grant(Verdict::kDegraded);
        return;
    }
    run([&] {
        const ClockBounds now = clock_bounds(engine().clock().steady());
        const LockedStripe stripe(engine().zone(), request_.id_hash);
        LoadedStates states(stripe, engine(), request_);
        return count_alone(states, now);
    }());
}

/// Whether this request is counted by the node alone if Redis has to decide it.
bool Admission::counts_alone() const {
    return is_known_ &&
           (engine().settings().on_failure == FailurePolicy::kLocal || is_only_counted()) &&
           !engine().transport().is_reachable(engine().slot_of(request_.id));
}

Admission::Next Admission::count_alone(LoadedStates& states, const ClockBounds& now) {
    // Without `on_failure local`, the nodes do not count themselves.
    states.share_among(is_only_counted() ? 1 : NodeHeartbeat::nodes(engine()));
    note_arrivals(states, *request_.quotas, request_.demand, 1, now.steady);
    const auto answer = decide_alone(states, *request_.quotas, request_.demand, now);
    keep_decision(answer, states, now);
    if (!states.save(now.steady) && answer == LocalAnswer::kGranted) {
        return Next::kUnavailable;
    }
    engine().statistics()["quota_decisions.alone"].add();
    return Next::kDecidedAlone;
}

}  // namespace tollgate::gateway
