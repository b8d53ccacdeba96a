#pragma once

#include <chrono>

// The times of the clocks that a process reads.
namespace tollgate {

/// A point in time to the millisecond, by a wall clock: that of the node, or Redis's, which counts
/// the windows.
using Instant = std::chrono::sys_time<std::chrono::milliseconds>;

/// An Instant to the microsecond, as the Redis command TIME returns it.
using ExactInstant = std::chrono::sys_time<std::chrono::microseconds>;

/// A time of the node's steady clock, to the millisecond.
using SteadyTime = std::chrono::milliseconds;

/// A SteadyTime to the microsecond.
using ExactSteadyTime = std::chrono::microseconds;

}  // namespace tollgate
