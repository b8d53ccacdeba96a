#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace tollgate::redis {

/// Limits a kind of log line to one in an interval, and counts the omitted lines.
class LogThrottle {
  public:
    using Time = std::chrono::steady_clock::time_point;

    explicit LogThrottle(std::chrono::seconds interval = std::chrono::seconds(1))
        : interval_(interval) {}

    /// If a line may be written now, returns the number of lines omitted since the last one;
    /// otherwise nothing.
    std::optional<std::uint64_t> admit(Time now) noexcept {
        if (last_ && now - *last_ < interval_) {
            ++left_out_;
            return std::nullopt;
        }
        last_ = now;
        return std::exchange(left_out_, 0);
    }

  private:
    std::chrono::seconds interval_;
    std::optional<Time> last_;
    std::uint64_t left_out_ = 0;
};

}  // namespace tollgate::redis
