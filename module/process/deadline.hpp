#pragma once

#include <chrono>
#include <optional>

namespace tollgate {

/// When a request stops waiting for a server, by a clock that is read at each call. A timer of an
/// event loop may fire too early, because it counts from the beginning of a turn, or too late,
/// because the loop stalled. After a stall, replies that have arrived are not read yet, and the
/// next command is not sent yet. So the server gets its timeout once more.
class Deadline {
  public:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    Deadline() = default;
    Deadline(Time now, std::chrono::milliseconds timeout)
        : timeout_(timeout), end_(now + timeout) {}

    /// Called when the timer has fired: how long to keep waiting; nullopt if the wait is over.
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
