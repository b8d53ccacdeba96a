#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace tollgate::redis {

/// Decides when a name is resolved again. Resolutions start at least one second apart.
class ResolutionPace {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::milliseconds;

    /// A resolution starts.
    void start(Time now) { started_ = now; }

    /// The resolution succeeded; the answer is valid for `valid`. Returns when to resolve again.
    Time succeed(Time now, Duration valid) {
        step_ = kShortest;
        return std::max(now + valid, earliest(now));
    }

    /// The resolution failed. Returns when to resolve again. While an address is known, the delay
    /// doubles from one second to ten, to limit the load of a name server that fails.
    Time fail(Time now, bool is_address_known) {
        const Duration delay = step_;
        step_ = std::min(step_ * 2, kLongest);
        return is_address_known ? now + delay : earliest(now);
    }

    /// The earliest time at which the next resolution may start.
    Time earliest(Time now) const { return started_ ? std::max(now, *started_ + kShortest) : now; }

    /// The time limit of the next resolution: at most `configured`. While no address is known, it
    /// doubles from one second, because nginx repeats a lost query only after five seconds.
    Duration time_limit(Duration configured, bool is_address_known) const {
        return is_address_known ? configured : std::min(step_, configured);
    }

  private:
    static constexpr Duration kShortest{1000};
    static constexpr Duration kLongest{10'000};

    std::optional<Time> started_;
    Duration step_ = kShortest;
};

}  // namespace tollgate::redis
