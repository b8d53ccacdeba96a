// Whether the key may pass, as far as the node can tell by itself: from leases, from what Redis
// told last, and alone while Redis is out of reach.

#include <algorithm>

#include "module/http/clock.hpp"
#include "module/http/decision.hpp"
#include "module/http/loaded_states.hpp"
#include "module/http/redis_client.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

bool Decision::has_place_in(const TableSet& tables) const {
    return tables.redis == conf_.tables->redis &&
           std::ranges::all_of(tables.tables, [&](const PlanTable* table) {
               return table->find(key_.plan) != nullptr;
           });
}

/// Finds the quotas of a key that is good, and decides if that can be done at once.
Decision::Next Decision::admit(const LockedZone& zone, ExactSteadyTime time) {
    if (!choose_quotas()) {
        return Next::kForbid;
    }
    if (request_.quotas->empty()) {
        return Next::kGrant;
    }
    request_.demand.changed = zone.changes().last(sought_.redis, request_.id_hash);
    const Moment now = client().moment(zone, time);
    LoadedStates states(zone, client(), request_);
    return decide_locally(states, now);
}

/// What the key may do here; false where its plan has no place.
bool Decision::choose_quotas() {
    try {
        request_.quotas = conf_.tables->choices->find(key_);
    } catch (const ParseError& e) {
        ngx_str_t id = borrow(key_.id);
        ngx_log_error(NGX_LOG_ERR, r_->connection->log, 0, "tollgate: limits of key \"%V\": %s",
                      &id, e.what());
    }
    if (!request_.quotas) {
        return false;
    }
    // What was refused before it came to Tollgate is here for the operator's page alone: that is
    // free.
    const bool for_error_page = r_->err_status >= NGX_HTTP_BAD_REQUEST;
    request_.id = key_.id;
    request_.api_key = sought_.hash();
    request_.demand.cost = for_error_page ? 0 : cost_;
    request_.demand.ban = conf_.tables->ban;
    request_.demand.refusals_strike = conf_.dry_run == 0;
    return true;
}

Decision::Next Decision::decide_locally(LoadedStates& states, const Moment& now) {
    const auto& quotas = request_.quotas;
    const Demand& demand = request_.demand;
    const LocalAnswer answer = decide(states, *quotas, demand, now);
    if (answer == LocalAnswer::kAsk) {
        return Next::kAcquire;  // which notes the arrival
    }
    show(answer, states, now);
    note_arrivals(states, demand, 1, now.steady);
    states.save(now.steady);
    DecisionStatistics& statistics = client().statistics().decisions;
    (answer == LocalAnswer::kGranted ? statistics.by_lease : statistics.by_refusal).add();
    return Next::kDecided;
}

/// Keeps what was decided from the node's own knowledge.
void Decision::show(LocalAnswer answer, LoadedStates& states, const Moment& time) {
    const auto& demand = request_.demand;
    const std::span<const QuotaState> shown = states;
    const Moment now = once_told(time, shown);
    local_ = {.answer = answer,
              .windows = windows_of(shown, *request_.quotas, now, demand.cost,
                                    answer != LocalAnswer::kGranted),
              .now = now.exact,
              .banned_until = shown.front().banned_until};
}

/// Counts on in the zone, for Redis to be told when it is back. Where the zone has no room for that
/// the request is refused.
void Decision::decide_alone() {
    cost_ = conf_.cost_of(r_);
    if (!choose_quotas()) {
        forbid();
        return;
    }
    if (request_.quotas->empty()) {
        grant(Verdict::kDegraded);
        return;
    }
    const bool done = [&] {
        const LockedZone zone(MainConf::of(r_));
        const Moment now = client().moment(zone, exact_steady_time());
        LoadedStates states(zone, client(), request_);
        note_arrivals(states, request_.demand, 1, now.steady);
        const auto answer = tollgate::decide_alone(states, *request_.quotas, request_.demand, now);
        show(answer, states, now);
        return states.save(now.steady) || answer != LocalAnswer::kGranted;
    }();
    if (!done) {
        refuse_unavailable();
        return;
    }
    client().statistics().decisions.alone.add();
    follow(local_, Verdict::kDegraded);
}

}  // namespace tollgate::http
