#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace tollgate::redis {

/// Admits one line of a kind to the log in a second, and counts those that are left out.
class LogThrottle {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// Whether a line may be written now; if so, how many were left out since the one before.
    std::optional<std::uint64_t> admit(Time now) noexcept {
        if (last_ && now - *last_ < std::chrono::seconds(1)) {
            ++left_out_;
            return std::nullopt;
        }
        last_ = now;
        return std::exchange(left_out_, 0);
    }

  private:
    std::optional<Time> last_;
    std::uint64_t left_out_ = 0;
};

}  // namespace tollgate::redis
