#pragma once

#include <chrono>
#include <optional>

namespace tollgate {

/// How long a request waits for a server, by a clock that is read when it is needed. Timers of an
/// event loop may fire too early, since they count from the beginning of a turn, or too late, where
/// the loop stalled: what the server sent meanwhile is not read yet then, nor is what comes next
/// asked for, so that the server gets its time once more.
class Patience {
  public:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    Patience() = default;
    Patience(Time now, std::chrono::milliseconds timeout)
        : timeout_(timeout), end_(now + timeout) {}

    /// A timer fired: how long to wait on; nothing where the wait is over.
    std::optional<std::chrono::milliseconds> rest(Time now) {
        if (now > end_ + kLate && !extended_) {
            extended_ = true;
            end_ = now + timeout_;
        }
        if (now < end_) {
            return std::chrono::ceil<std::chrono::milliseconds>(end_ - now);
        }
        return std::nullopt;
    }

  private:
    static constexpr std::chrono::milliseconds kLate{20};

    std::chrono::milliseconds timeout_{};
    Time end_{};
    bool extended_ = false;
};

}  // namespace tollgate
