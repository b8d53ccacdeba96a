#pragma once

#include <algorithm>
#include <chrono>

namespace tollgate {

/// Delays between attempts to connect to a server that does not answer. They grow, to limit the
/// load of the server, and are jittered, so that workers do not connect at the same time.
class Backoff {
  public:
    /// The next delay: between half of the step and the whole step, selected by `random` (0 to 1).
    /// Steps double from 50 ms to 1 s.
    std::chrono::milliseconds next(double random) {
        const auto delay =
            step_ / 2 + std::chrono::duration_cast<std::chrono::milliseconds>(step_ / 2 * random);
        step_ = std::min(step_ * 2, kLongest);
        return delay;
    }

    /// Restarts at the shortest delay; call this when the server has answered.
    void reset() { step_ = kShortest; }

    /// Whether there was no delay since the last reset.
    bool is_fresh() const { return step_ == kShortest; }

  private:
    static constexpr std::chrono::milliseconds kShortest{50};
    static constexpr std::chrono::milliseconds kLongest{1000};
    std::chrono::milliseconds step_ = kShortest;
};

}  // namespace tollgate
