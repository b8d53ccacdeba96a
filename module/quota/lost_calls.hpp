#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "module/quota/redis_clock.hpp"

namespace tollgate {

struct Acquire;
struct Acquired;
struct QuotaState;

/// The calls that asked for a lease of a quota and whose replies never come: Redis may have counted
/// their units, which nobody spends. Later acquires of the quota name them. Redis then takes the
/// units of a call back if its lease is the last one that was granted in the table. The same call
/// may be named any number of times: its units are taken back once. It is named until Redis has
/// taken it back, or certainly does not execute it any more. Plain memory, all zeros at first,
/// because the zone stores it.
class LostCalls {
  public:
    /// More calls are not kept: at most one of them has the last lease.
    static constexpr std::size_t kMost = 4;

    bool empty() const { return numbers_.front() == 0; }
    /// Their numbers: see Zone::number_call.
    std::span<const std::uint64_t> numbers() const {
        return std::span(numbers_).first(
            static_cast<std::size_t>(std::ranges::find(numbers_, 0U) - numbers_.begin()));
    }
    bool contains(std::uint64_t number) const {
        return number != 0 && std::ranges::find(numbers_, number) != numbers_.end();
    }
    /// Adds a call, which Redis may execute until `until`. Returns the number of an older one that
    /// has no place any more; 0: none.
    std::uint64_t add(std::uint64_t number, SteadyTime until);
    /// Removes a call. False if it is not there.
    bool erase(std::uint64_t number);
    /// Whether Redis executes none of them any more that it receives after `now`.
    bool are_over(SteadyTime now) const {
        // A worker that is killed may leave any time.
        return now >= until_ || until_ - now > kLongest;
    }
    bool operator==(const LostCalls&) const = default;

  private:
    /// Longer than Redis may execute a call: for twice the timeout, which is at most a minute.
    static constexpr SteadyTime kLongest{600'000};

    std::array<std::uint64_t, kMost> numbers_{};  ///< ascending by when they were added; then zeros
    SteadyTime until_{};                          ///< the latest of them
};

/// The reply to a call that asked for a lease never comes: acquires of its quotas name it, until
/// `until` at least.
void note_lost_call(std::span<QuotaState> states, std::uint64_t number, SteadyTime until);

/// Redis has answered an acquire: calls that it named are not named any more if Redis has taken
/// them back, or if Redis executed none of them any more when it was prepared.
void settle_lost_calls(std::span<QuotaState> states, const Acquire& acquire,
                       const Acquired& acquired);

/// Nothing names the calls of this quota any more, although Redis may have counted their units.
void drop_lost_calls(QuotaState& state);

}  // namespace tollgate
