#include "module/quota/slice.hpp"

#include <algorithm>
#include <limits>

#include "module/quota/lease.hpp"
#include "module/quota/quota_windows.hpp"

namespace tollgate {

namespace {

/// The smallest slice. With fewer units, the states are locked nearly as often as without a slice.
constexpr std::int64_t kLeastSlice = 3;

/// When a slice that is taken now ends.
SteadyTime end_for(std::span<const QuotaState> states, const Quotas& quotas,
                   const ClockBounds& now) {
    SteadyTime rest = Slice::kLongest;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        rest = std::min(rest, lease_horizon(quota) / 2);
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            const Instant end = window_end(state.windows[i].counted.number, quota.rates[i].period);
            rest = std::min(rest, end - now.latest - Slice::kDrift);
        }
    });
    return now.steady + rest;
}

}  // namespace

WindowStates Slice::windows() const {
    WindowStates windows(shown_.begin(), shown_.end());
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const std::int64_t units = units_of_shown_.empty() ? 1 : units_of_shown_[i];
        windows[i].set_rest(windows[i].rest() - spent_ * units);
    }
    return windows;
}

/// The steps that this worker is expected to need: as many as from the last slice if that one was
/// taken shortly before, otherwise its part of the requests of all workers.
std::int64_t Slice::wanted(std::span<const QuotaState> states, const Quotas& quotas, SteadyTime now,
                           SteadyTime ends, std::size_t workers) const {
    const auto span = static_cast<double>((ends - now).count());
    const SteadyTime since = now - began_;
    if (spent_ > 0 && since < 4 * kLongest) {
        const auto time = static_cast<double>(std::max<std::int64_t>(since.count(), 1));
        // A quarter more, so that a slice usually lasts to its end.
        return static_cast<std::int64_t>(1.25 * static_cast<double>(spent_) * span / time) + 1;
    }
    double of_all = std::numeric_limits<std::int32_t>::max();
    for_each_table(states, quotas,
                   [&](const QuotaState& state, const TableQuota& quota, std::size_t i) {
                       const std::int64_t units_of_step = cost_.units_of_step(i);
                       if (units_of_step > 0) {
                           const SteadyTime horizon = lease_horizon(quota);
                           const auto time = static_cast<double>(horizon.count() * units_of_step);
                           of_all = std::min(of_all, state.arrivals.at(now, horizon) * span / time);
                       }
                   });
    return static_cast<std::int64_t>(of_all / static_cast<double>(workers));
}

bool Slice::is_worthwhile(std::span<const QuotaState> states, const Quotas& quotas,
                          SteadyTime now) const {
    bool are_large = true;
    for_each_table(states, quotas,
                   [&](const QuotaState& state, const TableQuota& /*quota*/, std::size_t i) {
                       are_large = are_large && state.lease >= kLeastSlice * cost_.units_of_step(i);
                   });
    return are_large && wanted(states, quotas, now, now + kLongest, 1) >= kLeastSlice;
}

void Slice::take(std::span<QuotaState> states, const Quotas& quotas,
                 std::span<const WindowState> shown, const ClockBounds& now,
                 const Sharing& sharing) {
    const SteadyTime ends = end_for(states, quotas, now);
    std::int64_t steps = wanted(states, quotas, now.steady, ends, sharing.workers);
    for_each_table(
        states, quotas, [&](const QuotaState& state, const TableQuota& quota, std::size_t table) {
            const std::int64_t units_of_step = cost_.units_of_step(table);
            if (units_of_step == 0) {
                return;
            }
            // The others need a part as well.
            std::int64_t units = state.lease / std::int64_t{sharing.is_shared ? 2 : 1};
            for (std::size_t i = 0; i < quota.rates.size(); ++i) {
                units = std::min(units, left(state, quota, i, now.latest));  // as in spend_leases
            }
            steps = std::min(steps, units / units_of_step);
        });
    if (steps < kLeastSlice || ends <= now.steady) {
        return;
    }
    units_of_shown_.clear();
    if (!cost_.is_uniform()) {
        for (std::size_t table = 0; table < quotas.size(); ++table) {
            for (std::size_t i = 0; i < quotas[table].rates.size(); ++i) {
                if (quotas[table].shown_limit(i) != kNoLimit) {
                    units_of_shown_.push_back(cost_.units_of_step(table));
                }
            }
        }
    }
    counted_.clear();
    counted_at_ = states.front().counted_at;
    for_each_table(states, quotas, [&](const QuotaState& state, const TableQuota& quota) {
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            counted_.push_back(state.windows[i].counted);
        }
    });
    shown_.assign(shown.begin(), shown.end());
    returns_.reserve(states.size());
    returns_.clear();
    returns_until_ = now.earliest + kReturnsSoon;
    for (const QuotaState& state : states) {
        if (state.returns_until == returns_until_) {
            returns_until_ += SteadyTime(1);  // that of another slice, which may end earlier
        }
    }
    for (std::size_t table = 0; table < states.size(); ++table) {
        QuotaState& state = states[table];
        state.lease -= steps * cost_.units_of_step(table);
        state.counts.carried += steps * cost_.units_of_step(table);
        // Another worker may need the units meanwhile, or another key of the id.
        returns_.push_back({state.returns_until, state.returns_soon});
        state.expect_returns(returns_until_, true);
    }
    is_taken_ = true;
    steps_ = steps;
    spent_ = 0;
    began_ = now.steady;
    ends_ = ends;
    earliest_ = EarliestTime(now);
}

/// A state without a lease may be evicted from the zone. The units must not be lost with it.
void Slice::restore_if_evicted(QuotaState& state, const TableQuota& quota,
                               std::span<const WindowCount> counts) const {
    if (state.counted_at != Instant{}) {
        return;
    }
    bool are_known = true;
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        if (state.windows[i].counted.number <= counts[i].number) {
            set_window(state, quota, i, counts[i]);
        } else {
            are_known = false;  // Redis has not told this node what it counts in the later window.
        }
    }
    state.counted_at = are_known ? counted_at_ : Instant{};
    state.asked = began_;
}

void Slice::end(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
                SteadyTime now) {
    if (!is_taken_) {
        return;
    }
    if (spent_ > 0) {
        Demand each = demand;
        each.cost = cost_;
        note_arrivals(states, quotas, each, spent_, now);
    }
    const std::int64_t steps = steps_;
    // The copies first: if the worker is killed now, the units must not return twice.
    set_steps(0);
    std::span<const WindowCount> counts = counted_;
    auto returns = returns_.begin();
    for_each_table(states, quotas, [&](QuotaState& state, const TableQuota& quota, std::size_t i) {
        const std::int64_t units = steps * cost_.units_of_step(i);
        state.counts.carried -= units;
        if (state.returns_until == returns_until_ && state.returns_soon) {
            state.returns_until = returns->until;
            state.returns_soon = returns->soon;
        }
        ++returns;
        if (units > 0) {
            restore_if_evicted(state, quota, counts);
            add_lease(state, quota, counts.first(quota.rates.size()), units);
            if (began_ <= demand.changed) {
                return_lease(state, quota);
            }
        }
        counts = counts.subspan(quota.rates.size());
    });
    // `spent_` and `began_` remain: they tell the size of the next slice.
    is_taken_ = false;
    ends_ = {};
}

}  // namespace tollgate
