#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tollgate::management {

/// Decides how operations on keys share the processor of a worker with requests. In a turn, they
/// take it for a short time only, whatever they have to do: a request that arrives then notices it
/// little. Beside requests, all turns together take a small part of the time, so that few requests
/// notice them at all: fewer than the one in a hundred that decides the 99th percentile.
class TurnPace {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// Beside requests, turns take one part of so many of the time.
    explicit TurnPace(int part) : part_(part) {}

    /// After this time, a turn ends with the element that an operation has begun.
    static constexpr std::chrono::microseconds kLongestTurn{20};

    void note_turn(Time begin, Time end) {
        const auto time = std::min<Time::duration>(end - begin, kMostCharged);
        free_at_ = std::max(free_at_, begin) + part_ * time;
    }

    /// The time until the next turn. `requests` is how many requests the worker has had so far.
    Time::duration pause(Time now, std::uint64_t requests) {
        if (now - counted_at_ >= kCounted) {
            is_beside_requests_ = (requests - counted_) * kCounted >= kFewest * (now - counted_at_);
            counted_ = requests;
            counted_at_ = now;
        }
        if (!is_beside_requests_) {
            free_at_ = now;
        }
        return std::max<Time::duration>(free_at_ - part_ * kMostSaved - now,
                                        Time::duration::zero());
    }

  private:
    /// Requests are noticed if a worker has so many in this time. Those of the programs that manage
    /// keys count as well, and are fewer.
    static constexpr int kFewest = 3;
    static constexpr std::chrono::milliseconds kCounted{15};
    /// After a time without turns, those that take so long in all need no pause. A page or two do.
    static constexpr std::chrono::milliseconds kMostSaved{2};
    /// A turn that took longer was interrupted by other processes.
    static constexpr std::chrono::microseconds kMostCharged{500};

    const int part_;
    std::uint64_t counted_ = 0;
    Time counted_at_{};
    bool is_beside_requests_ = false;
    Time free_at_{};  ///< when the turns have not taken more than their part of the time
};

}  // namespace tollgate::management
