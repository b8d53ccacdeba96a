#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "module/quota/redis_clock.hpp"
#include "module/report/hour.hpp"

namespace tollgate {

/// The samples of a node's last hour, in memory that workers share. The first worker that notices
/// the end of a minute of the steady clock records a sample. Memory of zeros has none. A worker
/// that is killed while it records leaves none for this minute. The caller holds the lock of the
/// zone's node.
class HourSamples {
  public:
    /// An hour has one end of a minute more than minutes.
    static constexpr std::size_t kSamples = 61;

    /// The time until the next minute ends: above 0, at most one minute.
    static SteadyTime until_next(SteadyTime now);

    /// Whether a minute has just ended and its sample is missing. One that is taken late would have
    /// counts of the next minute.
    bool is_due(SteadyTime now) const;
    /// No effect unless it is due.
    void record(SteadyTime now, const HourSample& sample);

    /// The samples of the hour before now.
    Hour hour(SteadyTime now) const;

  private:
    struct Slot {
        std::uint64_t minute;  ///< its number from 1 on; 0: no sample
        HourSample sample;
    };

    std::array<Slot, kSamples> slots_{};  ///< by minute, modulo their number
};

}  // namespace tollgate
