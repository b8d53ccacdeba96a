#pragma once

#include <chrono>
#include <cstdint>

#include "module/redis/protocol/error_scope.hpp"

namespace tollgate::redis {

/// Decides whether one call may be sent again after an error reply. The call's deadline is never
/// extended.
class CallRetries {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// At most so many MOVED and ASK are followed.
    static constexpr int kMostRedirections = 5;

    struct Next {
        enum class Kind : std::uint8_t {
            kSendNow,  ///< to the server that the redirection names
            kSendAt,   ///< at `at`, to the master that serves the slot then
            kGiveUp    ///< treat the server as unreachable; for kNone, the error is the answer
        };
        Kind kind;
        Time at;  ///< for kSendAt; before the deadline
    };

    explicit CallRetries(Time deadline) : deadline_(deadline) {}

    /// What to do now that the call was answered with an error of this action. The delays of
    /// kRetryLater and kRediscover are 5, 10, 20 ms and so on, up to one second. After kRediscover,
    /// the call may be sent before `at`, as soon as a master is found.
    Next next(ErrorAction action, Time now) noexcept;

    /// Number of redirections that were followed.
    int redirections() const noexcept { return redirections_; }

  private:
    Next delayed(Time now) noexcept;

    static constexpr std::chrono::milliseconds kShortest{5};
    static constexpr std::chrono::milliseconds kLongest{1000};

    Time deadline_;
    std::chrono::milliseconds delay_ = kShortest;
    int redirections_ = 0;
};

}  // namespace tollgate::redis
