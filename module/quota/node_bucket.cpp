#include "module/quota/node_bucket.hpp"

#include <algorithm>
#include <cmath>

#include "module/plan/window_rest.hpp"

namespace tollgate {

double share_part(const QuotaState& state, const TableQuota& quota) {
    if (state.nodes <= 1) {
        return 1;
    }
    const std::int64_t counted = state.windows[quota.rates.size() - 1].counted.count;
    const std::int64_t own = std::clamp<std::int64_t>(state.own, 0, counted);
    // The larger of own/counted and 1/nodes, without an overflow: both may be as large as a limit.
    const double by_own =
        counted == 0 ? 0 : static_cast<double>(own) / static_cast<double>(counted);
    return std::max(by_own, 1 / static_cast<double>(state.nodes));
}

namespace {

/// The share of a bucket that a node has in an outage; if there is none, the whole bucket.
struct BucketShare {
    double part = 1;
    std::int64_t capacity = 0;  ///< the debt when it is empty
    std::int64_t debt = 0;      ///< its part of Redis's debt, and what the node has granted since

    BucketShare(const QuotaState& state, const TableQuota& quota, std::size_t window,
                ExactInstant now);

  private:
    static std::int64_t scaled(std::int64_t amount, double part) {
        return part < 1 ? static_cast<std::int64_t>(std::ceil(static_cast<double>(amount) * part))
                        : amount;
    }
};

/// The debt of a report that Redis has not acknowledged, and when it begins to refill: after
/// Redis's own debt.
struct SentDebt {
    std::int64_t debt = 0;
    ExactInstant refills{};

    SentDebt(const QuotaState& state, const Rate& rate, std::size_t window) {
        const WindowCount& counted = state.windows[window].counted;
        refills = granted_at(rate, counted.count,
                             ExactInstant(std::chrono::microseconds(counted.previous)), rate.burst);
        if (state.report && state.report->adjustments[window].units > 0) {
            const Adjustment& sent = state.report->adjustments[window];
            debt = sent.units;
            refills = std::max(refills, ExactInstant(std::chrono::microseconds(sent.previous)));
        }
    }
    /// What is left of it at `now`. `speed` is the node's part of the rate.
    std::int64_t at(ExactInstant now, double speed) const {
        const double passed = static_cast<double>((now - refills).count());
        const double refilled = std::max(passed, 0.0) * speed;
        return debt - static_cast<std::int64_t>(std::min(refilled, static_cast<double>(debt)));
    }
    /// When it has refilled.
    ExactInstant ends(double speed) const {
        const double time = std::ceil(static_cast<double>(debt) / speed);
        return refills + std::chrono::microseconds(static_cast<std::int64_t>(time));
    }
};

double speed_of(const QuotaState& state, const TableQuota& quota, const Rate& rate) {
    return share_part(state, quota) * static_cast<double>(rate.requests);
}

/// What the node has granted and Redis does not count yet, as a debt. Redis may have counted a
/// report already.
std::int64_t own_debt(const QuotaState& state, const TableQuota& quota, std::size_t window,
                      ExactInstant now) {
    const Rate& rate = quota.rates[window];
    return state.windows[window].owed +
           SentDebt(state, rate, window).at(now, speed_of(state, quota, rate));
}

/// The bucket with what Redis counts and what the node has granted since, as a count at `now` or
/// later.
WindowCount granted_in_bucket(const QuotaState& state, const TableQuota& quota, std::size_t window,
                              ExactInstant now) {
    const Rate& rate = quota.rates[window];
    const WindowCount& counted = state.windows[window].counted;
    const std::int64_t debt = debt_at(counted, rate, now) + own_debt(state, quota, window, now);
    const ExactInstant at =
        std::max<ExactInstant>(now, ExactInstant(std::chrono::microseconds(counted.previous)));
    return {rate.requests, std::max<std::int64_t>(debt, 0), at.time_since_epoch().count()};
}

BucketShare::BucketShare(const QuotaState& state, const TableQuota& quota, std::size_t window,
                         ExactInstant now)
    : part(share_part(state, quota)) {
    const Rate& rate = quota.rates[window];
    capacity = std::max(scaled(empty_debt(rate), part), token_debt(rate));
    const std::int64_t base = debt_at(state.windows[window].counted, rate, now);
    debt = std::max<std::int64_t>(scaled(base, part) + own_debt(state, quota, window, now), 0);
}

}  // namespace

std::int64_t left_in_bucket(const QuotaState& state, const TableQuota& quota, std::size_t window,
                            Instant now) {
    const Rate& rate = quota.rates[window];
    const std::int64_t all =
        units_left(granted_in_bucket(state, quota, window, now), rate, false, now);
    if (state.nodes <= 1) {
        return all;
    }
    const BucketShare share(state, quota, window, now);
    return std::min(all, tokens_left(rate, empty_debt(rate) - share.capacity + share.debt));
}

ExactInstant bucket_grants_at(const QuotaState& state, const TableQuota& quota, std::size_t window,
                              Instant now, std::int64_t cost) {
    const Rate& rate = quota.rates[window];
    const WindowCount granted = granted_in_bucket(state, quota, window, now);
    const ExactInstant whole = refilled_at(granted, rate, now, cost);
    if (state.nodes <= 1) {
        return whole;
    }
    const BucketShare share(state, quota, window, now);
    const std::int64_t most = share.capacity / token_debt(rate);
    const std::int64_t missing = share.debt - share.capacity + debt_of(rate, std::min(cost, most));
    const double wait = std::ceil(static_cast<double>(std::max<std::int64_t>(missing, 0)) /
                                  (share.part * static_cast<double>(rate.requests)));
    const ExactInstant at(std::chrono::microseconds(granted.previous));
    return std::max(whole, at + std::chrono::microseconds(static_cast<std::int64_t>(wait)));
}

void refill_owed(QuotaState& state, const TableQuota& quota, const ClockBounds& now) {
    for (std::size_t i = 0; i < quota.rates.size() && quota.rates[i].is_bucket(); ++i) {
        const Rate& rate = quota.rates[i];
        if (state.report) {
            std::int64_t& since = state.report->adjustments[i].previous;
            since = bucket_time(since, now.earliest);
        }
        QuotaState::Window& window = state.windows[i];
        if (window.owed > 0 && window.owed_previous != 0) {
            const double speed = speed_of(state, quota, rate);
            const ExactInstant full = SentDebt(state, rate, i).ends(speed);
            const auto since_full =
                std::chrono::floor<SteadyTime>(ExactInstant(now.earliest) - full);
            const auto since_owed = now.steady - SteadyTime(window.owed_previous);
            const auto elapsed = std::chrono::microseconds(std::min(since_full, since_owed));
            const double refilled = speed * static_cast<double>(elapsed.count());
            if (refilled > 0) {
                window.owed -=
                    static_cast<std::int64_t>(std::min(refilled, static_cast<double>(window.owed)));
            }
        }
        // Another worker may have read a later time before.
        window.owed_previous =
            window.owed > 0 ? std::max<std::int64_t>(window.owed_previous, now.steady.count()) : 0;
    }
}

void owe_debt(QuotaState& state, std::size_t bucket, std::int64_t debt) {
    auto& [counted, owed, owed_since] = state.windows[bucket];
    owed += debt;
    owed_since = owed > 0 ? owed_since : Units();
}

}  // namespace tollgate
