#include "module/quota/local_decision.hpp"

#include <algorithm>

#include "module/quota/lease.hpp"
#include "module/quota/node_bucket.hpp"
#include "module/quota/quota_windows.hpp"
#include "module/quota/shown_windows.hpp"

namespace tollgate {

namespace {

/// After this time without a reply, the bounds of Redis's clock are too wide for Retry-After.
constexpr SteadyTime kClockHolds{100};

/// Whether Retry-After is the same by both bounds of Redis's clock. Near a full second they may
/// differ; Redis is then asked, which also narrows the bounds. For kClockHolds after a reply, Redis
/// is not asked again for this.
bool is_wait_known(const QuotaState& state, ExactInstant until, const ClockBounds& now) {
    return now.steady - state.asked < kClockHolds ||
           retry_after(now.exact, until) == retry_after(now.latest, until);
}

/// Counts a refusal as Redis does: strikes count within a time that begins with the first one.
void strike(Ban& ban, const BanPolicy& policy, SteadyTime now) {
    if (ban.strikes == 0 || now - ban.struck_since >= policy.within) {
        ban.strikes = 0;
        ban.struck_since = now;
    }
    ++ban.strikes;
}

/// Grants units, which are reported to Redis later.
void owe(QuotaState& state, const TableQuota& quota, std::int64_t cost, const ClockBounds& now) {
    state.counts.noted += cost;
    // Units that wait to be returned are granted first. Redis has counted them.
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        add_owed(state, quota, i, cost);
    }
    if (quota.has_bucket()) {
        refill_owed(state, quota, now);
    }
}

}  // namespace

bool is_banned(const QuotaState& first, const Demand& demand, const ClockBounds& now) {
    return demand.ban && first.ban.until > now.latest;
}

void note_arrivals(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                   std::int64_t count, SteadyTime now) {
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota, std::size_t i) {
        const QuotaCost& cost = demand.cost.of(i);
        if (cost.room() > 0) {
            state.arrivals.note(now, count * cost.units, lease_horizon(quota));
        }
    });
}

LocalAnswer decide(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                   const ClockBounds& now) {
    const auto is_fresh = [&](const QuotaState& state) {
        return now.steady - state.asked < kRefusalHolds && knows_change(state, demand, now);
    };
    const QuotaState& first = states.front();
    // Redis tells the ban with each call that asks for a table with a ban. Calls for other tables
    // only make those tables younger.
    if (is_banned(first, demand, now)) {
        const bool known =
            std::ranges::all_of(states, is_fresh) && is_wait_known(first, first.ban.until, now);
        return known ? LocalAnswer::kBanned : LocalAnswer::kAsk;
    }
    if (demand.cost.needs_nothing()) {
        return LocalAnswer::kAsk;
    }
    // The units of a lease may be more than limits that have changed since allow.
    const auto knows = [&](const QuotaState& state) { return knows_change(state, demand, now); };
    if (std::ranges::all_of(states, knows) && spend_leases(states, quotas, demand, now)) {
        return LocalAnswer::kGranted;
    }
    bool exhausted = false;
    bool known = true;
    for_each_table(
        states, quotas, [&](const QuotaState& state, const TableQuota& quota, std::size_t table) {
            const std::int64_t room = demand.cost.of(table).room();
            const bool strikes = demand.strikes_in(quota);
            if (room == 0) {
                return;  // It refuses nothing.
            }
            if (!is_fresh(state) || !are_current(state, quota, now)) {
                known = known && !strikes;
                return;
            }
            for (std::size_t i = 0; i < quota.rates.size(); ++i) {
                if (left(state, quota, i, now.latest) < room) {
                    const ExactInstant retry = retry_at(state, quota, i, now.earliest, room);
                    exhausted = true;
                    known = known && !strikes;
                    // At that time, Redis may have units again. What a bucket owes to Redis refills
                    // meanwhile.
                    const bool refills =
                        quota.rates[i].is_bucket() && (owes(state) || state.report);
                    known = known && !refills && retry > now.latest &&
                            is_wait_known(state, retry, now) && state.lease_calls == 0;
                }
            }
        });
    return exhausted && known ? LocalAnswer::kLimited : LocalAnswer::kAsk;
}

LocalAnswer decide_alone(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                         const ClockBounds& now) {
    QuotaState& first = states.front();
    if (is_banned(first, demand, now)) {
        return LocalAnswer::kBanned;
    }
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        if (quota.has_bucket()) {
            refill_owed(state, quota, now);
        }
        // Also for a request of cost 0: its charge may follow, and counts in these windows.
        if (!are_current(state, quota, now)) {
            roll_windows(state, quota, now.earliest);
        }
    });
    if (demand.cost.needs_nothing() || spend_leases(states, quotas, demand, now)) {
        return LocalAnswer::kGranted;
    }
    bool exhausted = false;
    bool strikes = false;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota, std::size_t i) {
        const std::int64_t room = demand.cost.of(i).room();
        if (room > 0 && is_exhausted(state, quota, room, now.earliest)) {
            exhausted = true;
            strikes = strikes || demand.strikes_in(quota);
        }
    });
    if (exhausted) {
        if (strikes) {
            strike(first.ban, *demand.ban, now.steady);
        }
        return LocalAnswer::kLimited;
    }
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota, std::size_t i) {
        const QuotaCost& cost = demand.cost.of(i);
        // The lease of a table does not suffice. A table with room for its lease and this request
        // keeps its lease: units that are returned are lost if Redis's reply is lost.
        if (state.lease > 0 &&
            is_exhausted(state, quota, state.lease + cost.room(), now.earliest)) {
            return_lease(state, quota);
        }
        owe(state, quota, cost.units, now);
    });
    return LocalAnswer::kGranted;
}

}  // namespace tollgate
