#include "module/quota/lease.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "module/quota/quota_windows.hpp"

namespace tollgate {

namespace {

/// The horizon is this part of the shortest window, without its last second: leases are not
/// recalled then.
constexpr int kHorizonsInWindow = 20;
/// A lease is idle after this time without a request, or after the horizon if it is longer.
constexpr SteadyTime kIdleAfter{1000};
/// A lease that Redis was not asked about for this many times that time is returned, even if
/// requests come.
constexpr int kOldAfter = 2;
/// How long an idle lease waits to be returned: for the settlement's next pass, and for its call.
constexpr std::chrono::milliseconds kSettledWithin{500};
/// A lease is renewed when it lasts for this part of the horizon, or for kRenewedAhead.
constexpr int kRenewedAheadPart = 4;
/// A lease is renewed while Redis has at least so many times its units left. Towards the end of a
/// quota, units that no request asks for yet would be missing at other nodes. Redis grants at most
/// an eighth of what is left (see Acquire::lease), so renewals become smaller before.
constexpr std::int64_t kRoomForRenewal = 4;
/// A renewal waits for this part of the horizon, at most for kMostRenewalWait.
constexpr int kRenewalWaitPart = 10;
/// The fewest requests that are worth a lease.
constexpr std::int64_t kLeastRequests = 2;
/// The largest lease to ask for. A double represents it exactly.
constexpr double kMostSteps = 1e15;

SteadyTime idle_after(std::chrono::milliseconds horizon) {
    return std::max(kIdleAfter, horizon);
}

}  // namespace

std::chrono::milliseconds lease_horizon(Period shortest, std::chrono::milliseconds lease_time) {
    const std::chrono::milliseconds length(shortest.length());
    return std::max(kLeastLeaseTime,
                    std::min((length - kReturnsSoon) / kHorizonsInWindow, lease_time));
}

std::chrono::milliseconds lease_horizon(const TableQuota& quota) {
    return lease_horizon(quota.rates.front().period, quota.lease_time);
}

std::chrono::milliseconds lease_returns_within(const TableQuota& quota) {
    return kOldAfter * idle_after(lease_horizon(quota)) + kSettledWithin;
}

namespace {

/// The steps that requests are expected to need in each table: per ms, and the time to lease for.
struct Expected {
    double steps_per_ms = kMostSteps;
    SteadyTime horizon = kMostLeaseTime;  ///< the shortest one
    SteadyTime span = kMostLeaseTime;     ///< at most `horizon`; 0: no lease

    /// In one more table, of which a step takes units, within its own horizon.
    void add(double units, std::int64_t units_of_step, SteadyTime horizon_of_table) {
        const auto of_a_ms = static_cast<double>(horizon_of_table.count() * units_of_step);
        steps_per_ms = std::min(steps_per_ms, units / of_a_ms);
        horizon = std::min(horizon, horizon_of_table);
    }
    /// How long a lease lasts when it is renewed.
    SteadyTime ahead() const { return std::min(kRenewedAhead, horizon / kRenewedAheadPart); }
    std::int64_t steps(SteadyTime time) const {
        return static_cast<std::int64_t>(
            std::min(steps_per_ms * static_cast<double>(time.count()), kMostSteps));
    }
};

Expected expect(std::span<const QuotaState> states, const Quotas& quotas, const Cost& cost,
                std::int64_t deciding, const ClockBounds& now) {
    Expected expected;
    for_each_table(
        states, quotas, [&](const QuotaState& state, const TableQuota& quota, std::size_t i) {
            const std::int64_t units_of_step = cost.units_of_step(i);
            if (units_of_step == 0) {
                return;  // Nothing is leased of it.
            }
            const std::int64_t of_request = cost.of(i).units;
            const SteadyTime horizon = lease_horizon(quota);
            const double units =
                state.arrivals.at(now.steady, horizon) - static_cast<double>(deciding * of_request);
            expected.add(units, units_of_step, horizon);
            const bool has_units = quota.lease_time > SteadyTime(0) &&
                                   !is_exhausted(state, quota, of_request, now.latest);
            expected.span = std::min(expected.span, has_units ? horizon : SteadyTime(0));
            for (const Rate& rate : quota.rates) {
                expected.span = std::min(
                    expected.span,
                    window_end(window_number(now.latest, rate.period), rate.period) - now.latest);
            }
        });
    return expected;
}

/// At most so many steps can be leased in addition to the units that each table has.
std::int64_t lease_room(std::span<const QuotaState> states, const Quotas& quotas,
                        const Cost& cost) {
    std::int64_t room = Units::kMost;
    for_each_table(
        states, quotas, [&](const QuotaState& state, const TableQuota& quota, std::size_t i) {
            if (const std::int64_t units_of_step = cost.units_of_step(i); units_of_step > 0) {
                room =
                    std::min<std::int64_t>(room, (most_lease(quota) - state.lease) / units_of_step);
            }
        });
    return room;
}

}  // namespace

std::int64_t lease_size(std::span<const QuotaState> states, const Quotas& quotas, const Cost& cost,
                        std::int64_t deciding, const ClockBounds& now) {
    if (deciding == 0 || !cost.can_be_leased()) {
        return 0;
    }
    const Expected expected = expect(states, quotas, cost, deciding, now);
    const std::int64_t steps =
        std::min(expected.steps(expected.span), lease_room(states, quotas, cost));
    return steps >= kLeastRequests * cost.steps() ? steps : 0;
}

bool may_lease(const Arrivals& arrivals, std::int64_t cost) {
    return arrivals.units >= static_cast<float>(kLeastRequests * cost);
}

std::int64_t renewal_size(std::span<const QuotaState> states, const Quotas& quotas,
                          const Demand& demand, const ClockBounds& now) {
    const Cost& cost = demand.cost;
    std::int64_t held = std::numeric_limits<std::int64_t>::max();
    Expected most;
    for_each_table(
        states, quotas, [&](const QuotaState& state, const TableQuota& quota, std::size_t i) {
            if (const std::int64_t units_of_step = cost.units_of_step(i); units_of_step > 0) {
                held = std::min<std::int64_t>(held, state.lease / units_of_step);
                most.add(state.arrivals.units, units_of_step, lease_horizon(quota));
            }
        });
    // Most leases last long enough even if no request had left the arrivals yet.
    if (held >= std::max(cost.steps(), most.steps(most.ahead())) || !cost.can_be_leased()) {
        return 0;
    }
    bool is_possible = true;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        is_possible = is_possible && state.lease_calls == 0 && are_current(state, quota, now) &&
                      knows_change(state, demand, now);
    });
    if (!is_possible) {
        return 0;
    }
    const Expected expected = expect(states, quotas, cost, 0, now);
    const SteadyTime ahead = std::min(expected.ahead(), expected.span);
    if (held >= std::max(cost.steps(), expected.steps(ahead))) {
        return 0;
    }
    const std::int64_t steps =
        std::min(expected.steps(expected.span) - held, lease_room(states, quotas, cost));
    for_each_table(states, quotas,
                   [&](const QuotaState& state, const TableQuota& quota, std::size_t i) {
                       const std::int64_t units =
                           state.lease + kRoomForRenewal * steps * cost.units_of_step(i);
                       is_possible = is_possible && !is_exhausted(state, quota, units, now.latest);
                   });
    // Compared with a small lease, prepare() would take the old one for too large.
    is_possible = is_possible && held / kLargeLease < steps;
    return is_possible && steps >= kLeastRequests * cost.steps() ? steps : 0;
}

std::chrono::milliseconds renewal_wait(const Quotas& quotas) {
    std::chrono::milliseconds wait = kMostRenewalWait;
    for (const TableQuota& quota : quotas) {
        wait = std::min(wait, lease_horizon(quota) / kRenewalWaitPart);
    }
    return wait;
}

bool spend_leases(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                  const ClockBounds& now) {
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        const std::int64_t room = demand.cost.of(i).room();
        if (!are_current(states[i], quotas[i], now)) {
            return false;
        }
        // If the limits were lowered since, they may allow less than the lease.
        if (room > 0
                ? states[i].lease < room || is_exhausted(states[i], quotas[i], room, now.latest)
                : now.steady - states[i].asked > lease_horizon(quotas[i])) {
            return false;
        }
    }
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        const std::int64_t units = demand.cost.of(i).units;
        states[i].lease -= units;
        states[i].counts.spent += units;
    }
    return true;
}

bool is_recalled(Period shortest, SteadyTime recalled, const ClockBounds& now) {
    const SteadyTime age = now.steady - recalled;
    return recalled != SteadyTime{} && age < kRecallHolds &&
           window_number(now.latest - age, shortest) == window_number(now.latest, shortest);
}

bool is_recalled(const Quotas& quotas, SteadyTime recalled, const ClockBounds& now) {
    return std::ranges::any_of(quotas, [&](const TableQuota& quota) {
        return is_recalled(quota.rates.front().period, recalled, now);
    });
}

void begin_lease_call(QuotaState& state, const TableQuota& quota, bool wants_lease,
                      const ClockBounds& now) {
    if (now.steady - state.asked >= kRefusalHolds) {
        state.lease_calls = 0;  // A worker that was killed left them.
    }
    // Requests that only wait for the outcome of another call don't put off that moment.
    const bool waits = state.lease_calls > 0 && is_exhausted(state, quota, 1, now.latest);
    // Only a new lease makes a lease younger.
    if ((state.lease == 0 || wants_lease) && !waits) {
        state.asked = now.steady;
    }
    if (wants_lease) {
        state.lease_calls = std::min(state.lease_calls + 1, kMostLeaseCalls);
    }
}

void end_lease_call(QuotaState& state, bool wanted_lease) {
    if (wanted_lease) {
        state.lease_calls = std::max(state.lease_calls - 1, 0);
    }
}

SteadyTime idle_at(SteadyTime last_arrival, SteadyTime asked, std::chrono::milliseconds horizon) {
    const SteadyTime idle = idle_after(horizon);
    return std::min(last_arrival + idle, asked + kOldAfter * idle);
}

bool are_same(const QuotaState& state, std::span<const WindowCount> counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (state.windows[i].counted.number != counts[i].number) {
            return false;
        }
    }
    return true;
}

void add_lease(QuotaState& state, const TableQuota& quota, std::span<const WindowCount> counts,
               std::int64_t lease) {
    if (are_same(state, counts)) {
        state.lease += lease;
    } else {
        owe_to_windows(state, quota, counts, -lease);
    }
}

void keep_lease(QuotaState& state, const TableQuota& quota, std::int64_t most) {
    const std::int64_t returned = state.lease - most;
    if (returned <= 0) {
        return;
    }
    state.lease = most;
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        add_owed(state, quota, i, -returned);
    }
}

void return_lease(QuotaState& state, const TableQuota& quota) {
    keep_lease(state, quota, 0);
}

void roll_windows(QuotaState& state, const TableQuota& quota, Instant now) {
    return_lease(state, quota);
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        const WindowCount& counted = state.windows[i].counted;
        const WindowCount window = roll(counted, quota.rates[i], now);
        if (window != counted) {
            set_window(state, quota, i, window);
        }
    }
}

void return_leases(std::span<QuotaState> states, const Quotas& quotas) {
    for_each_table(states, quotas, return_lease);
}

}  // namespace tollgate
