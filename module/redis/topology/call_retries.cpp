#include "module/redis/topology/call_retries.hpp"

#include <algorithm>

namespace tollgate::redis {

CallRetries::Next CallRetries::next(ErrorAction action, Time now) noexcept {
    constexpr Next kGiveUp{.kind = Next::Kind::kGiveUp, .at = {}};
    if (now >= deadline_) {
        return kGiveUp;
    }
    switch (action) {
        case ErrorAction::kMoved:
        case ErrorAction::kAsk:
            if (redirections_ == kMostRedirections) {
                return kGiveUp;
            }
            ++redirections_;
            return {.kind = Next::Kind::kSendNow, .at = now};
        case ErrorAction::kRetryLater:
        case ErrorAction::kRediscover:
            return delayed(now);
        case ErrorAction::kNone:
        case ErrorAction::kUnavailable:
            break;
    }
    return kGiveUp;
}

CallRetries::Next CallRetries::delayed(Time now) noexcept {
    if (deadline_ - now <= delay_) {
        return {.kind = Next::Kind::kGiveUp, .at = {}};
    }
    const Time at = now + delay_;
    delay_ = std::min(delay_ * 2, kLongest);
    return {.kind = Next::Kind::kSendAt, .at = at};
}

}  // namespace tollgate::redis
