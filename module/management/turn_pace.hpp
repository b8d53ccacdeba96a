#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tollgate::management {

/// Decides how operations on keys share the processor of a worker with requests. In a turn, they
/// take it for a short time only, whatever they have to do: a request that arrives then notices it
/// little. Beside requests, the turns take a small part of the time, so that few requests notice
/// them at all.
class TurnPace {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// Beside requests, turns take one part of so many of the time.
    explicit TurnPace(int part) : part_(part) {}

    /// After this time, a turn ends with the element that an operation has begun.
    static constexpr std::chrono::microseconds kLongestTurn{20};

    /// A turn has ended, which took so much time of the processor.
    void note_turn(Time now, std::chrono::nanoseconds taken) {
        free_at_ = std::max(free_at_, now) + part_ * taken;
    }

    /// The time until the next turn. `requests` is how many requests the worker has had so far.
    Time::duration pause(Time now, std::uint64_t requests) {
        if (now - counted_at_ >= kCounted) {
            if ((requests - counted_) * kCounted >= kFewest * (now - counted_at_)) {
                beside_requests_until_ = now + kRemembered;
            }
            counted_ = requests;
            counted_at_ = now;
        }
        if (now >= beside_requests_until_) {
            free_at_ = now;
        }
        return std::max<Time::duration>(free_at_ - part_ * kMostSaved - now,
                                        Time::duration::zero());
    }

  private:
    /// Requests are noticed if a worker has so many in this time.
    static constexpr int kFewest = 3;
    static constexpr std::chrono::milliseconds kCounted{15};
    /// By chance, a worker with 200 requests a second has fewer for some time.
    static constexpr std::chrono::milliseconds kRemembered{300};
    /// After a time without turns, those that take so long in all need no pause. A page or two do.
    static constexpr std::chrono::milliseconds kMostSaved{2};

    const int part_;
    std::uint64_t counted_ = 0;
    Time counted_at_{};
    Time beside_requests_until_{};
    Time free_at_{};  ///< when the turns have not taken more than their part of the time
};

}  // namespace tollgate::management
