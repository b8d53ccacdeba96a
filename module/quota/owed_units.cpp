#include "module/quota/owed_units.hpp"

#include <algorithm>
#include <utility>

#include "module/quota/lease.hpp"
#include "module/quota/node_bucket.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

using namespace std::chrono_literals;

namespace {

bool changes(const Adjustment& adjustment) {
    return adjustment.units != 0 || adjustment.previous != 0;
}

/// Whether Redis still takes an adjustment of a window.
bool counts_yet(const Adjustment& adjustment, const TableQuota& quota, std::size_t window,
                const ClockBounds& now) {
    const std::int64_t current = window_number(now.earliest, quota.rates[window].period);
    return changes(adjustment) && adjustment.number + windows_adjusted(quota, window) >= current;
}

/// Counts the adjustments of the longest window.
void count_settled(UnitCounts& counts, const Adjustment& longest) {
    tollgate::count_settled(counts, longest.units);
    tollgate::count_settled(counts, longest.previous);
}

void count_dropped(UnitCounts& counts, const Adjustment& longest) {
    tollgate::count_dropped(counts, longest.units);
    tollgate::count_dropped(counts, longest.previous);
}

std::span<const Adjustment> adjustments_of(const Report& report, const TableQuota& quota) {
    return std::span(report.adjustments).first(quota.rates.size());
}

/// Drops a report of windows that have ended. Redis then has no note of it any more, and could
/// apply it twice to a bucket.
void drop_ended_report(QuotaState& state, const TableQuota& quota, const ClockBounds& now) {
    if (!state.report) {
        return;
    }
    const auto adjustments = adjustments_of(*state.report, quota);
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
        if (!quota.rates[i].is_bucket() && counts_yet(adjustments[i], quota, i, now)) {
            return;
        }
    }
    count_dropped(state.counts, adjustments.back());
    state.report.reset();
}

/// Whether Redis's clock has certainly begun a window, or Redis counts it. The node may have
/// granted requests alone by another clock: its own, or that of a former master.
bool has_begun(const WindowCount& counted, const Rate& rate, const ClockBounds& now) {
    return counted.count > 0 || counted.number <= window_number(now.earliest, rate.period);
}

/// Takes the owed units out of the windows. Units of windows that have ended are dropped. Units of
/// a window that has not begun stay: Redis would not take them.
std::array<Adjustment, kMaxWindows> take_owed(QuotaState& state, const TableQuota& quota,
                                              const ClockBounds& now) {
    std::array<Adjustment, kMaxWindows> owed{};
    refill_owed(state, quota, now);
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        auto& window = state.windows[i];
        if (quota.rates[i].is_bucket()) {
            const auto time = ExactInstant(now.earliest).time_since_epoch().count();
            owed[i] = {window.counted.number, std::exchange(window.owed, 0), 0};
            owed[i].previous = owed[i].units > 0 ? time : 0;
            window.owed_previous = 0;
            continue;
        }
        if (!has_begun(window.counted, quota.rates[i], now)) {
            owed[i].number = window.counted.number;
            continue;
        }
        owed[i] = {window.counted.number, std::exchange(window.owed, 0),
                   std::exchange(window.owed_previous, 0)};
        if (!counts_yet(owed[i], quota, i, now)) {
            if (i + 1 == quota.rates.size()) {
                count_dropped(state.counts, owed[i]);
            }
            owed[i] = {window.counted.number, 0, 0};
        }
    }
    return owed;
}

/// The units of leases that adjustments without a report return.
std::int64_t returned_by(std::span<const Adjustment> adjustments) {
    return -adjustments.back().units - adjustments.back().previous;
}

bool adds(const Adjustment& adjustment) {
    return adjustment.units > 0 || adjustment.previous > 0;
}

void add_to_counted(QuotaState& state, std::span<const Adjustment> adjustments, std::int64_t sign) {
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
        WindowCount& counted = state.windows[i].counted;
        if (counted.number == adjustments[i].number) {
            counted.count += sign * adjustments[i].units;
            counted.previous += sign * adjustments[i].previous;
        }
    }
}

/// The adjustments of one table, and the number of their report; 0 if they have none.
std::pair<std::uint64_t, std::array<Adjustment, kMaxWindows>> adjust(QuotaState& state,
                                                                     const TableQuota& quota,
                                                                     const ClockBounds& now,
                                                                     std::uint64_t* last_report) {
    if (state.report) {
        return {state.report->number, state.report->adjustments};
    }
    if (last_report == nullptr) {
        return {};
    }
    const auto owed = take_owed(state, quota, now);
    const auto adjustments = std::span(owed).first(quota.rates.size());
    const bool refunds = std::exchange(state.owes_refund, false);
    if (std::ranges::any_of(adjustments, refunds ? changes : adds)) {
        state.report = Report{++*last_report, owed};
        return {*last_report, owed};
    }
    // Count them here until Redis answers, because requests may be decided alone in the meantime.
    add_to_counted(state, adjustments, 1);
    state.counts.carried += returned_by(adjustments);
    return {0, owed};
}

/// Takes the strikes, and drops them if they are too old for the policy.
void take_strikes(Ban& ban, const BanPolicy& policy, SteadyTime now, Acquire& acquire) {
    if (now - ban.struck_since < policy.within) {
        acquire.strikes = ban.strikes;
        acquire.struck_since = ban.struck_since;
    }
    ban.strikes = 0;
    ban.struck_since = {};
}

/// Takes strikes back that Redis did not count.
void strike_again(Ban& ban, const Acquire& acquire) {
    if (acquire.strikes > 0) {
        ban.struck_since = ban.strikes == 0 ? acquire.struck_since
                                            : std::min(ban.struck_since, acquire.struck_since);
        ban.strikes += acquire.strikes;
    }
}

/// Calls `use` with each table's state, quota, adjustments and index.
template <typename Use>
void for_each_adjusted(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                       Use use) {
    std::span<const Adjustment> rest = acquire.adjustments;
    for (std::size_t i = 0; i < quotas.size() && !rest.empty(); ++i) {
        use(states[i], quotas[i], rest.first(quotas[i].rates.size()), i);
        rest = rest.subspan(quotas[i].rates.size());
    }
}

}  // namespace

Acquire prepare(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                std::int64_t count, std::int64_t lease, const ClockBounds& now,
                std::uint64_t* last_report) {
    Acquire acquire{.id = {},
                    .quotas = nullptr,
                    .demand = demand,
                    .count = count,
                    .lease = lease,
                    .is_lease_call = lease > 0,
                    .prepared = now.steady};
    bool adjusts = false;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota, std::size_t i) {
        const std::int64_t wanted = lease * demand.cost.units_of_step(i);
        // If tables cost differently, another one may be the reason that the call asks for little.
        const auto expected =
            demand.cost.is_uniform()
                ? 0
                : static_cast<std::int64_t>(state.arrivals.at(now.steady, lease_horizon(quota)));
        // If only the lease has room for the request, Redis would refuse it: return the lease
        // first. A lease that did not serve the request and is larger than the node expects to need
        // would grow with the next one.
        if (state.lease > 0 &&
            (!are_current(state, quota, now) || !knows_change(state, demand, now) ||
             idle_at(state.arrivals.last, state.asked, lease_horizon(quota)) <= now.steady ||
             is_exhausted(state, quota, state.lease + demand.cost.of(i).room(), now.latest) ||
             (wanted > 0 && state.lease / kLargeLease >= std::max(wanted, expected)))) {
            return_lease(state, quota);
        }
        begin_lease_call(state, quota, wanted > 0, now);
        drop_ended_report(state, quota, now);
        adjusts = adjusts || held_units(state).owes;
    });
    if (adjusts) {
        for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
            const auto [number, adjustments] = adjust(state, quota, now, last_report);
            acquire.adjustments.insert(
                acquire.adjustments.end(), adjustments.begin(),
                adjustments.begin() + static_cast<std::ptrdiff_t>(quota.rates.size()));
            acquire.report_numbers.push_back(number);
            acquire.counted_at.push_back(state.counted_at);
            acquire.lost_calls.push_back(state.lost_calls);
        });
        if (std::ranges::all_of(acquire.lost_calls, &LostCalls::empty)) {
            acquire.lost_calls.clear();
        }
        if (acquire.lost_calls.empty() && std::ranges::none_of(acquire.adjustments, changes)) {
            acquire.adjustments.clear();
            acquire.report_numbers.clear();
            acquire.counted_at.clear();
        }
    }
    if (demand.ban) {
        take_strikes(states.front().ban, *demand.ban, now.steady, acquire);
    }
    return acquire;
}

void owe_again(QuotaState& state, const TableQuota& quota,
               std::span<const Adjustment> adjustments) {
    // A state whose lease is being returned may have been evicted.
    std::array<WindowCount, kMaxWindows> windows{};
    std::ranges::transform(adjustments, windows.begin(), [](const Adjustment& adjustment) {
        return WindowCount{.number = adjustment.number};
    });
    restore_windows(state, quota, windows);
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
        const std::int64_t current = state.windows[i].counted.number;
        const auto& [number, units, previous] = adjustments[i];
        Adjustment dropped;
        if (quota.rates[i].is_bucket()) {
            owe_debt(state, i, units);
        } else if (current == number) {
            add_owed(state, quota, i, units);
            add_owed_previous(state, quota, i, previous);
        } else if (keeps_history(quota, i)) {
            add_owed_previous(state, quota, i, units);
            add_owed_previous(state, quota, i, previous);
        } else if (quota.sliding && current == number + 1) {
            add_owed_previous(state, quota, i, units);
            dropped.previous = previous;
        } else {
            dropped = adjustments[i];
        }
        if (i + 1 == adjustments.size()) {
            count_dropped(state.counts, dropped);
        }
    }
}

void restore(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
             AcquireFailure failure) {
    if (failure == AcquireFailure::kNotApplied) {
        strike_again(states.front().ban, acquire);
    }
    for_each_table(states, quotas,
                   [&](QuotaState& state, const TableQuota& /*quota*/, std::size_t table) {
                       end_lease_call(state, acquire.is_lease_call_for(table));
                   });
    for_each_adjusted(states, quotas, acquire,
                      [&](QuotaState& state, const TableQuota& quota,
                          std::span<const Adjustment> adjustments, std::size_t table) {
                          if (acquire.report_numbers[table] != 0) {
                              return;
                          }
                          // If newer counts have arrived, they do not include the adjustments.
                          if (state.counted_at == acquire.counted_at[table]) {
                              add_to_counted(state, adjustments, -1);
                          }
                          state.counts.carried -= returned_by(adjustments);
                          if (failure == AcquireFailure::kUnknown) {
                              count_dropped(state.counts, adjustments.back());
                          } else {
                              owe_again(state, quota, adjustments);
                          }
                      });
}

namespace {

/// Takes those adjustments out of a report that Redis has not applied: see acknowledge.
std::array<Adjustment, kMaxWindows> take_ignored(std::span<Adjustment> report,
                                                 const TableQuota& quota,
                                                 std::span<const WindowCount> counted) {
    std::array<Adjustment, kMaxWindows> ignored{};
    for (std::size_t i = 0; i < report.size(); ++i) {
        ignored[i].number = report[i].number;
        if (!quota.rates[i].is_bucket() && !keeps_history(quota, i) &&
            report[i].number > counted[i].number) {
            ignored[i] = std::exchange(report[i], {report[i].number, 0, 0});
        }
    }
    return ignored;
}

}  // namespace

void acknowledge(std::span<QuotaState> states, const Quotas& quotas, const Acquire& acquire,
                 std::span<const WindowCount> counted) {
    for_each_adjusted(states, quotas, acquire,
                      [&](QuotaState& state, const TableQuota& quota,
                          std::span<const Adjustment> adjustments, std::size_t table) {
                          const std::size_t windows = quota.rates.size();
                          const std::uint64_t number = acquire.report_numbers[table];
                          if (number == 0) {
                              state.counts.carried -= returned_by(adjustments);
                              count_settled(state.counts, adjustments.back());
                              note_own(state, quota, adjustments.back().number,
                                       adjustments.back().units);
                          } else if (state.report && state.report->number == number) {
                              Report report = *std::exchange(state.report, std::nullopt);
                              const auto sent = std::span(report.adjustments).first(windows);
                              const auto ignored = take_ignored(sent, quota, counted);
                              count_settled(state.counts, sent.back());
                              note_own(state, quota, sent.back().number, sent.back().units);
                              if (std::ranges::any_of(ignored, changes)) {
                                  owe_again(state, quota, std::span(ignored).first(windows));
                              }
                          }
                          counted = counted.subspan(windows);
                      });
}

HeldUnits held_units(const QuotaState& state) {
    return {.owes = owes(state) || state.report || !state.lost_calls.empty(),
            .lease = state.lease,
            .last_arrival = state.arrivals.last,
            .asked = state.asked};
}

SteadyTime settling_due(const HeldUnits& units, std::chrono::milliseconds horizon) {
    if (units.owes) {
        return SteadyTime{};
    }
    return units.lease > 0 ? idle_at(units.last_arrival, units.asked, horizon) : SteadyTime::max();
}

UnitCounts lost_with(const QuotaState& state, const TableQuota& quota) {
    UnitCounts counts;
    tollgate::count_dropped(counts, -state.lease);
    const QuotaState::Window& longest = state.windows[quota.rates.size() - 1];
    tollgate::count_dropped(counts, longest.owed);
    tollgate::count_dropped(counts, longest.owed_previous);
    if (state.report) {
        count_dropped(counts, adjustments_of(*state.report, quota).back());
    }
    counts.calls_left += static_cast<std::int64_t>(state.lost_calls.numbers().size());
    return counts;
}

bool is_held(const QuotaState& state) {
    return state.lease > 0 || held_units(state).owes;
}

}  // namespace tollgate
