#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "module/process/time.hpp"

namespace tollgate {

/// The time now: by the node's steady clock, and between two bounds by Redis's clock.
struct ClockBounds {
    SteadyTime steady{};
    Instant earliest{};  ///< Redis's clock shows at least this
    Instant latest{};    ///< and at most this
    /// `earliest` and `steady` in microseconds, for Retry-After: rounded up to seconds, an error of
    /// one ms can become one second.
    ExactInstant exact{};
    ExactSteadyTime exact_steady{};
};

/// Bounds of the offset between Redis's clock, which counts the windows, and the node's steady
/// clock. They come from the times in Redis's replies (Cristian's algorithm). The object is in the
/// zone: plain memory, all zeros at first.
class RedisClock {
  public:
    /// Redis's clock showed `now` at a time between `sent` and `received`. All three are whole us,
    /// rounded down. The two must be read from the clock at that moment; the cached time of the
    /// event loop gives wrong bounds.
    void observe(ExactSteadyTime sent, ExactSteadyTime received, ExactInstant now) {
        const std::int64_t least = (now.time_since_epoch() - received - kTick).count();
        const std::int64_t most = (now.time_since_epoch() - sent + kTick).count();
        const std::int64_t drift = drift_until(received);
        const std::int64_t narrow_least = std::max(least, least_ - drift);
        const std::int64_t narrow_most = std::min(most, most_ + drift);
        // Bounds that do not overlap: Redis's clock was set, or another Redis took over.
        const bool agree = known_ != 0 && narrow_least <= narrow_most;
        least_ = agree ? narrow_least : least;
        most_ = agree ? narrow_most : most;
        // Workers may report out of order; the bounds refer to the latest time.
        const auto heard = std::chrono::floor<SteadyTime>(received);
        heard_ = agree ? std::max(heard_, heard) : heard;
        known_ = 1;
    }

    /// Takes the time in the first reply of a server that may be another one. Earlier bounds do not
    /// apply: bounds of two servers may overlap by chance, and must not narrow each other. See
    /// observe() for the arguments.
    void restart(ExactSteadyTime sent, ExactSteadyTime received, ExactInstant now) {
        known_ = 0;
        observe(sent, received, now);
    }

    /// The bounds at `steady`. Before the first reply, `wall`, the node's own clock, is used
    /// instead of Redis's.
    ClockBounds at(ExactSteadyTime steady, Instant wall) const {
        const auto whole = std::chrono::floor<SteadyTime>(steady);
        if (known_ == 0) {
            return {whole, wall, wall, wall, steady};
        }
        const std::int64_t drift = drift_until(steady);
        const ExactInstant earliest(steady + ExactSteadyTime(least_ - drift));
        const ExactInstant latest(steady + ExactSteadyTime(most_ + drift));
        return {whole, std::chrono::floor<SteadyTime>(earliest),
                std::chrono::ceil<SteadyTime>(latest), earliest, steady};
    }

    /// The deadline of a call, by Redis's clock: not earlier than `timeout` after `sent`, and at
    /// most `timeout` too late while the bounds are wide. No request waits for a call that Redis
    /// runs later. 0 before the first reply.
    Instant deadline(ExactSteadyTime sent, std::chrono::milliseconds timeout) const {
        if (known_ == 0) {
            return {};
        }
        const ClockBounds now = at(sent, {});
        return std::min(now.latest, now.earliest + timeout) + timeout;
    }

    /// Whether there was a reply.
    bool is_known() const { return known_ != 0; }

    /// When the clock was observed last, by the node's steady clock; 0: never.
    SteadyTime heard() const { return heard_; }

    /// How far Redis's clock and a node's drift apart within this time at most: by 1/1000 of it,
    /// since NTP slews each clock by half of that at most. Never negative.
    static constexpr ExactSteadyTime drift_within(ExactSteadyTime time) {
        constexpr std::int64_t kDrift = 1000;
        return std::max(time / kDrift + kTick, ExactSteadyTime{});
    }

  private:
    static constexpr ExactSteadyTime kTick{1};

    /// How far the clocks may have drifted apart since the last reply, in us.
    std::int64_t drift_until(ExactSteadyTime time) const {
        return drift_within(time - heard_).count();
    }

    std::int64_t least_ = 0;  ///< us, as of `heard_`
    std::int64_t most_ = 0;
    SteadyTime heard_{};
    std::int64_t known_ = 0;
};

/// ClockBounds::exact for a short time after it was read.
class EarliestTime {
  public:
    EarliestTime() = default;
    explicit EarliestTime(const ClockBounds& read)
        : exact_(read.exact), exact_steady_(read.exact_steady) {}

    /// Redis's clock shows at least this at `now`.
    ExactInstant at(ExactSteadyTime now) const {
        const ExactSteadyTime passed = now - exact_steady_;
        return exact_ + passed - RedisClock::drift_within(passed);
    }

  private:
    ExactInstant exact_{};
    ExactSteadyTime exact_steady_{};
};

}  // namespace tollgate
