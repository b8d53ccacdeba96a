#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

namespace tollgate::redis {

/// Decides when a worker sends a call of management to a server. A call takes the worker and Redis
/// some 30 us each: with pauses between them, the processors stay free for requests.
class ManagementPace {
  public:
    using Time = std::chrono::milliseconds;  ///< of a clock that does not step

    /// A request is sent to the same server. That of a program that manages keys is one, too.
    void note_request(Time now) {
        std::shift_left(requests_.begin(), requests_.end(), 1);
        requests_.back() = now;
    }

    /// Whether a call may be sent now. Then it counts as sent.
    bool take(Time now) {
        save(now);
        const bool may_send = saved_ >= kPartsOfCall;
        saved_ -= may_send ? kPartsOfCall : 0;
        return may_send;
    }

  private:
    static constexpr std::size_t kPartsOfCall = 4;
    static constexpr std::size_t kPartsPerMillisecond = 20;
    static constexpr std::size_t kPartsBesideRequests = 2;
    /// What an operation sends at once, after a pause.
    static constexpr std::size_t kMostParts = 128 * kPartsOfCall;
    /// Requests are noticed if the last few were sent within this time.
    static constexpr std::chrono::milliseconds kBesideRequests{15};

    bool has_requests(Time now) const {
        return requests_.front() && now - *requests_.front() <= kBesideRequests;
    }

    /// Saves parts of calls for the time since the last one.
    void save(Time now) {
        const auto passed = static_cast<std::size_t>(std::max(now - saved_at_, Time{}).count());
        const auto each = has_requests(now) ? kPartsBesideRequests : kPartsPerMillisecond;
        saved_ = std::min(saved_ + std::min(passed, kMostParts) * each, kMostParts);
        saved_at_ = now;
    }

    std::array<std::optional<Time>, 3> requests_{};  ///< when the last ones were sent
    std::size_t saved_ = kMostParts;
    Time saved_at_{};
};

}  // namespace tollgate::redis
