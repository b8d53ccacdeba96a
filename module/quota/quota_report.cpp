#include "module/quota/quota_report.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "module/quota/quota_rules.hpp"

namespace tollgate {

using namespace std::chrono_literals;

namespace {

/// Of fewer, too many would lie idle: what comes at random leaves 100 ms empty that bring that few.
constexpr std::int64_t kLeastLease = 8;
/// Replies come late by less than this; a time that is earlier still is that of another clock.
constexpr std::chrono::milliseconds kLate = 1s;

bool is_idle(const QuotaState& state, const Moment& now) {
    return state.arrivals.last() + kIdleAfter <= now.steady;
}

/// What the next 100 ms may bring to every table, or what is left of them in the windows.
std::int64_t wanted_lease(std::span<const QuotaState> states, const Quotas& quotas,
                          const Moment& now) {
    std::int64_t expected = std::numeric_limits<std::int64_t>::max() / kSlot.count();
    std::chrono::milliseconds span = kSlot;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        expected = std::min(expected, state.arrivals.expected(now.steady));
        for (const Rate& rate : quota.rates) {
            span = std::min(
                span, window_end(window_number(now.latest, rate.period), rate.period) - now.latest);
        }
    });
    const std::int64_t wanted = expected * span / kSlot;
    return wanted < kLeastLease || !std::ranges::all_of(quotas, &TableQuota::leases) ? 0 : wanted;
}

bool changes(const Adjustment& adjustment) {
    return adjustment.units != 0 || adjustment.previous != 0;
}

/// Whether an adjustment can still change a count of Redis.
bool counts_yet(const Adjustment& adjustment, const TableQuota& quota, std::size_t window,
                const Moment& now) {
    const std::int64_t current = window_number(now.earliest, quota.rates[window].period);
    return changes(adjustment) && adjustment.number + (quota.sliding ? 1 : 0) >= current;
}

/// What the longest window's adjustments add up to.
std::int64_t units_of(std::span<const Adjustment> adjustments) {
    return adjustments.back().units + adjustments.back().previous;
}

std::span<const Adjustment> adjustments_of(const Report& report, const TableQuota& quota) {
    return std::span(report.adjustments).first(quota.rates.size());
}

/// Drops a report of windows that have ended.
void drop_late_report(QuotaState& state, const TableQuota& quota, const Moment& now) {
    if (!state.report) {
        return;
    }
    const auto adjustments = adjustments_of(*state.report, quota);
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
        if (counts_yet(adjustments[i], quota, i, now)) {
            return;
        }
    }
    count_dropped(state.counts, units_of(adjustments));
    state.report.reset();
}

/// Takes what is owed out of the windows, but for windows that have ended.
std::array<Adjustment, kMaxRates> take_owed(QuotaState& state, const TableQuota& quota,
                                            const Moment& now) {
    std::array<Adjustment, kMaxRates> owed{};
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        auto& window = state.windows[i];
        owed[i] = {window.told.number, std::exchange(window.owed, 0),
                   std::exchange(window.owed_previous, 0)};
        if (!counts_yet(owed[i], quota, i, now)) {
            if (i + 1 == quota.rates.size()) {
                count_dropped(state.counts, owed[i].units + owed[i].previous);
            }
            owed[i] = {window.told.number, 0, 0};
        }
    }
    return owed;
}

bool adds(const Adjustment& adjustment) {
    return adjustment.units > 0 || adjustment.previous > 0;
}

void add_to_told(QuotaState& state, std::span<const Adjustment> adjustments, std::int64_t sign) {
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
        WindowCount& told = state.windows[i].told;
        if (told.number == adjustments[i].number) {
            told.count += sign * adjustments[i].units;
            told.previous += sign * adjustments[i].previous;
        }
    }
}

/// Puts adjustments back that Redis did not apply.
void owe_again(QuotaState& state, const TableQuota& quota,
               std::span<const Adjustment> adjustments) {
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
        auto& window = state.windows[i];
        const auto& [number, units, previous] = adjustments[i];
        std::int64_t dropped = 0;
        if (window.told.number == number) {
            window.owed += units;
            window.owed_previous += previous;
        } else if (quota.sliding && window.told.number == number + 1) {
            window.owed_previous += units;
            dropped = previous;
        } else {
            dropped = units + previous;
        }
        if (i + 1 == adjustments.size()) {
            count_dropped(state.counts, dropped);
        }
    }
}

/// The adjustments of one table, and the number of the report that they are; 0 for none.
std::pair<std::uint64_t, std::array<Adjustment, kMaxRates>> adjust(QuotaState& state,
                                                                   const TableQuota& quota,
                                                                   const Moment& now,
                                                                   std::uint64_t* last_report) {
    if (state.report) {
        return {state.report->number, state.report->adjustments};
    }
    if (last_report == nullptr) {
        return {};
    }
    const auto owed = take_owed(state, quota, now);
    const auto adjustments = std::span(owed).first(quota.rates.size());
    if (std::ranges::any_of(adjustments, adds)) {
        state.report = Report{++*last_report, owed};
        return {*last_report, owed};
    }
    // Until Redis answers it counts here: others may decide alone meanwhile.
    add_to_told(state, adjustments, 1);
    return {0, owed};
}

/// Calls `use` with each table's state, quota, adjustments and index.
template <typename Use>
void for_each_adjusted(std::span<QuotaState> states, const Quotas& quotas, const Prepared& prepared,
                       Use use) {
    std::span<const Adjustment> rest = prepared.adjustments;
    for (std::size_t i = 0; i < quotas.size() && !rest.empty(); ++i) {
        use(states[i], quotas[i], rest.first(quotas[i].rates.size()), i);
        rest = rest.subspan(quotas[i].rates.size());
    }
}

/// Redis has the adjustments.
void acknowledge(std::span<QuotaState> states, const Quotas& quotas, const Prepared& prepared) {
    for_each_adjusted(states, quotas, prepared,
                      [&](QuotaState& state, const TableQuota& /*quota*/,
                          std::span<const Adjustment> adjustments, std::size_t table) {
                          const std::uint64_t number = prepared.report_numbers[table];
                          if (number == 0) {
                              count_settled(state.counts, units_of(adjustments));
                          } else if (state.report && state.report->number == number) {
                              count_settled(state.counts, units_of(adjustments));
                              state.report.reset();
                          }
                      });
}

/// Whether these are the windows that the node was told of last.
bool are_same(const QuotaState& state, std::span<const WindowCount> counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (state.windows[i].told.number != counts[i].number) {
            return false;
        }
    }
    return true;
}

bool is_late(const QuotaState& state, const Acquired& acquired) {
    const auto lag = state.told_at - acquired.now;
    return lag > 0ms && lag <= kLate;
}

/// Takes a lease of these windows: what the present ones don't have of it is given back.
void take_lease(QuotaState& state, const TableQuota& quota, std::span<const WindowCount> counts,
                std::int64_t lease) {
    if (are_same(state, counts)) {
        state.lease += lease;
        return;
    }
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        auto& window = state.windows[i];
        if (window.told.number == counts[i].number) {
            window.owed -= lease;
        } else if (i + 1 == quota.rates.size()) {
            count_dropped(state.counts, -lease);
        }
    }
}

void take_counts(QuotaState& state, const TableQuota& quota, std::span<const WindowCount> counts,
                 const Acquired& acquired) {
    if (is_late(state, acquired)) {
        take_lease(state, quota, counts, acquired.lease);
        return;
    }
    const bool same = are_same(state, counts);
    if (!same) {
        // Two leases of different windows can't be kept as one.
        give_back_lease(state, quota);
    }
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        WindowCount told = counts[i];
        if (same && state.told_at == acquired.now) {
            told.count = std::max(told.count, state.windows[i].told.count);
        }
        set_window(state, quota, i, told);
    }
    state.told_at = acquired.now;
    state.lease += acquired.lease;
}

}  // namespace

Prepared prepare(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                 const Moment& now, std::uint64_t* last_report) {
    Prepared prepared;
    bool adjusts = false;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        // Redis refuses what only the lease makes room for.
        if (state.lease > 0 &&
            (!stands(state, quota, now) || is_idle(state, now) ||
             is_exhausted(state, quota, state.lease + demand.cost, now.latest))) {
            give_back_lease(state, quota);
        }
        state.asked = now.steady;
        drop_late_report(state, quota, now);
        adjusts = adjusts || owes(state) || state.report;
    });
    if (adjusts) {
        for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
            const auto [number, adjustments] = adjust(state, quota, now, last_report);
            prepared.adjustments.insert(
                prepared.adjustments.end(), adjustments.begin(),
                adjustments.begin() + static_cast<std::ptrdiff_t>(quota.rates.size()));
            prepared.report_numbers.push_back(number);
            prepared.told_at.push_back(state.told_at);
        });
        if (std::ranges::none_of(prepared.adjustments, changes)) {
            prepared = {};
        }
    }
    prepared.lease = demand.cost > 0 ? wanted_lease(states, quotas, now) : 0;
    if (demand.ban) {
        prepared.strikes = std::exchange(states.front().strikes_untold, 0);
    }
    return prepared;
}

void restore(std::span<QuotaState> states, const Quotas& quotas, const Prepared& prepared,
             Fate fate) {
    states.front().strikes_untold += prepared.strikes;
    for_each_adjusted(states, quotas, prepared,
                      [&](QuotaState& state, const TableQuota& quota,
                          std::span<const Adjustment> adjustments, std::size_t table) {
                          if (prepared.report_numbers[table] != 0) {
                              return;
                          }
                          // What Redis told since doesn't have them.
                          if (state.told_at == prepared.told_at[table]) {
                              add_to_told(state, adjustments, -1);
                          }
                          if (fate == Fate::kUnknown) {
                              count_dropped(state.counts, units_of(adjustments));
                          } else {
                              owe_again(state, quota, adjustments);
                          }
                      });
}

void take_in(std::span<QuotaState> states, const Quotas& quotas, const Prepared& prepared,
             const Acquired& acquired) {
    acknowledge(states, quotas, prepared);
    if (!is_late(states.front(), acquired)) {
        states.front().banned_until = acquired.banned_until;
    }
    std::span<const WindowCount> counts = acquired.windows;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        take_counts(state, quota, counts.first(quota.rates.size()), acquired);
        counts = counts.subspan(quota.rates.size());
    });
}

void keep_unused(std::span<QuotaState> states, const Quotas& quotas, const Acquired& acquired,
                 std::int64_t units) {
    std::span<const WindowCount> counts = acquired.windows;
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota) {
        take_lease(state, quota, counts.first(quota.rates.size()), units);
        if (!quota.leases) {
            give_back_lease(state, quota);
        }
        counts = counts.subspan(quota.rates.size());
    });
}

void give_back_leases(std::span<QuotaState> states, const Quotas& quotas) {
    for_each_table(states, quotas, give_back_lease);
}

bool needs_settling(const QuotaState& state, const Moment& now) {
    return owes(state) || state.report || (state.lease > 0 && is_idle(state, now));
}

bool is_held(const QuotaState& state) {
    return state.lease > 0 || owes(state) || state.report;
}

}  // namespace tollgate
