#pragma once

#include <chrono>
#include <cstdint>

namespace tollgate::management {

/// Decides how operations on keys share the processor of a worker with requests. In a turn, they
/// take it for a short time only, whatever they have to do: a request that arrives then notices it
/// little. Beside requests there is a pause after each turn, so that few requests notice it at all.
class TurnPace {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// After this time, a turn ends with the element that an operation has begun.
    static constexpr std::chrono::microseconds kLongestTurn{20};

    /// The time until the next turn. `requests` is how many requests the worker has had so far.
    std::chrono::milliseconds pause_after_turn(Time now, std::uint64_t requests) {
        if (now - counted_at_ >= kCounted) {
            is_beside_requests_ = (requests - counted_) * kCounted >= kFewest * (now - counted_at_);
            counted_ = requests;
            counted_at_ = now;
        }
        return is_beside_requests_ ? kPause : std::chrono::milliseconds::zero();
    }

  private:
    /// Requests are noticed if a worker has so many in this time. Those of the programs that manage
    /// keys count as well, and are fewer.
    static constexpr int kFewest = 3;
    static constexpr std::chrono::milliseconds kCounted{15};
    static constexpr std::chrono::milliseconds kPause{1};

    std::uint64_t counted_ = 0;
    Time counted_at_{};
    bool is_beside_requests_ = false;
};

}  // namespace tollgate::management
