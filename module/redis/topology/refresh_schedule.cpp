#include "module/redis/topology/refresh_schedule.hpp"

#include <algorithm>
#include <utility>

namespace tollgate::redis {

namespace {

/// Between `least` and `most`.
std::chrono::milliseconds between(std::chrono::milliseconds least, std::chrono::milliseconds most,
                                  double random) {
    return least + std::chrono::duration_cast<std::chrono::milliseconds>((most - least) * random);
}

}  // namespace

void RefreshSchedule::request(Time now) noexcept {
    if (is_running_) {
        is_requested_ = true;
    } else if (interval_ == kShortest) {
        due_ = std::min(due_, std::max(now, begun_ + kShortest));
    }
}

void RefreshSchedule::restart(Time now) noexcept {
    interval_ = kShortest;
    if (!is_running_) {
        due_ = now;
    }
}

std::optional<RefreshSchedule::Time> RefreshSchedule::due() const noexcept {
    return is_running_ ? std::nullopt : std::optional(due_);
}

bool RefreshSchedule::begin(Time now) noexcept {
    if (is_running_ || now < due_) {
        return false;
    }
    is_running_ = true;
    is_requested_ = false;
    begun_ = now;
    return true;
}

void RefreshSchedule::succeeded(Time now, double random) noexcept {
    if (!std::exchange(is_running_, false)) {
        return;
    }
    interval_ = kShortest;
    due_ = is_requested_ ? std::max(now, begun_ + kShortest)
                         : now + between(kLongest * 9 / 10, kLongest, random);
}

void RefreshSchedule::failed(Time now, double random) noexcept {
    if (!std::exchange(is_running_, false)) {
        return;
    }
    interval_ = std::min(interval_ * 2, kLongest);
    due_ = now + between(interval_ / 2, interval_, random);
}

}  // namespace tollgate::redis
