#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "module/quota/window.hpp"

namespace tollgate {

/// A time of the node's steady clock.
using SteadyTime = std::chrono::milliseconds;

/// The same to the microsecond.
using ExactSteadyTime = std::chrono::microseconds;

/// Now, by the node's steady clock and, as far as the node can know it, by Redis's.
struct Moment {
    SteadyTime steady{};
    Instant earliest{};  ///< Redis's clock shows at least this
    Instant latest{};    ///< and at most this
    /// `earliest` before it was rounded down, for a time that a client waits: rounded up to
    /// seconds, a ms too much may become a second.
    ExactInstant exact{};
};

/// What a node knows of Redis's clock, by which windows are counted: bounds of its distance from
/// the node's own, from the times that replies tell (Cristian's algorithm). Plain memory, of zeros
/// at first: it lies in the zone.
class RedisClock {
  public:
    /// A reply that came at `received` to what was sent at `sent` told the time `now`. All three
    /// are whole us, rounded down, and read when it happened: a time that is as old as the turn of
    /// the event loop gives bounds that don't hold.
    void observe(ExactSteadyTime sent, ExactSteadyTime received, ExactInstant now) {
        const std::int64_t least = (now.time_since_epoch() - received - kTick).count();
        const std::int64_t most = (now.time_since_epoch() - sent + kTick).count();
        const std::int64_t drift = drift_until(received);
        const std::int64_t narrow_least = std::max(least, least_ - drift);
        const std::int64_t narrow_most = std::min(most, most_ + drift);
        // Bounds that exclude one another: Redis's clock was set, or another Redis took over.
        const bool agree = known_ != 0 && narrow_least <= narrow_most;
        least_ = agree ? narrow_least : least;
        most_ = agree ? narrow_most : most;
        // A worker may be late to tell what it received; the bounds are as of the latest time.
        const auto heard = std::chrono::floor<SteadyTime>(received);
        heard_ = agree ? std::max(heard_, heard) : heard;
        known_ = 1;
    }

    /// The moment of `steady`; `wall`, the node's own clock, stands for Redis's while that was
    /// never heard of.
    Moment at(ExactSteadyTime steady, Instant wall) const {
        const auto whole = std::chrono::floor<SteadyTime>(steady);
        if (known_ == 0) {
            return {whole, wall, wall, wall};
        }
        const std::int64_t drift = drift_until(steady);
        const ExactInstant earliest(steady + ExactSteadyTime(least_ - drift));
        const ExactInstant latest(steady + ExactSteadyTime(most_ + drift));
        return {whole, std::chrono::floor<SteadyTime>(earliest),
                std::chrono::ceil<SteadyTime>(latest), earliest};
    }

    /// A time that Redis's clock shows no earlier than `timeout` after `sent`: what Redis runs
    /// later has no one who waits for it. Where the clock is known badly it is at most `timeout`
    /// too late. 0 where the clock was never heard of.
    Instant deadline(ExactSteadyTime sent, std::chrono::milliseconds timeout) const {
        if (known_ == 0) {
            return {};
        }
        const Moment now = at(sent, {});
        return std::min(now.latest, now.earliest + timeout) + timeout;
    }

  private:
    static constexpr ExactSteadyTime kTick{1};

    /// How far the clocks may have parted since they were compared, in us: a thousandth, since
    /// each is slewed by half of that at most.
    std::int64_t drift_until(ExactSteadyTime time) const {
        constexpr std::int64_t kDrift = 1000;
        return std::max<std::int64_t>((time - heard_).count() / kDrift + 1, 0);
    }

    std::int64_t least_ = 0;  ///< us, as of `heard_`
    std::int64_t most_ = 0;
    SteadyTime heard_{};
    std::int64_t known_ = 0;
};

}  // namespace tollgate
