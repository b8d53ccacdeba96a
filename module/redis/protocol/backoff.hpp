#pragma once

#include <algorithm>
#include <chrono>

namespace tollgate {

/// Delays between attempts to reach a server that doesn't answer: growing, so as not to press it,
/// and jittered, so that workers don't come all at once.
class Backoff {
  public:
    /// The next delay: half of a step to all of it, as `random` (0 to 1) says; steps double from 50
    /// ms to 1 s.
    std::chrono::milliseconds next(double random) {
        const auto delay =
            step_ / 2 + std::chrono::duration_cast<std::chrono::milliseconds>(step_ / 2 * random);
        step_ = std::min(step_ * 2, kLongest);
        return delay;
    }

    /// The server answered: begin anew.
    void reset() { step_ = kShortest; }

    /// True until the first delay after a reset.
    bool is_fresh() const { return step_ == kShortest; }

  private:
    static constexpr std::chrono::milliseconds kShortest{50};
    static constexpr std::chrono::milliseconds kLongest{1000};
    std::chrono::milliseconds step_ = kShortest;
};

}  // namespace tollgate
