#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "module/quota/local_decision.hpp"

namespace tollgate {

/// A refusal that a worker repeats for a short time, without the states that the workers of a node
/// share.
class RecentRefusal {
  public:
    /// The node refused a request of this demand now. `windows` are those that the response shows.
    /// Throws std::bad_alloc; then nothing is repeated.
    void set(LocalAnswer answer, const Demand& demand, std::span<const QuotaState> states,
             std::span<const WindowState> windows, const ClockBounds& now);

    /// Whether a request of this demand is refused as well. A smaller one may be granted, a larger
    /// one may have to wait longer.
    bool applies_to(const Demand& demand, ExactSteadyTime now) const {
        return now < until_ && demand.cost == cost_ && demand.refusals_strike == strikes_;
    }
    /// Refuses a request: it is counted until take_count().
    void repeat() { ++count_; }
    /// Whether take_count() would return more than 0.
    bool has_repeated() const { return count_ > 0; }
    /// How many requests were refused since the last call.
    std::int64_t take_count() { return std::exchange(count_, 0); }

    LocalAnswer answer() const { return answer_; }
    Instant banned_until() const { return banned_until_; }
    const std::vector<WindowState>& windows() const { return windows_; }
    /// Redis's clock, as far as it was known at the first refusal.
    ExactInstant redis_time(ExactSteadyTime now) const { return earliest_.at(now); }

  private:
    LocalAnswer answer_ = LocalAnswer::kAsk;
    bool strikes_ = false;
    Cost cost_;
    std::int64_t count_ = 0;
    SteadyTime until_{};
    EarliestTime earliest_;
    Instant banned_until_{};
    std::vector<WindowState> windows_;
};

}  // namespace tollgate
