#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tollgate {

class JsonWriter;
struct Status;

/// The number of series that a node keeps for an hour; hour.cpp describes each.
constexpr std::size_t kHourSeries = 12;

/// A value of each series, modulo 2^32.
using HourSample = std::array<std::uint32_t, kHourSeries>;

/// The last hour of a node.
struct Hour {
    std::chrono::seconds age{};  ///< of the end of the last minute
    /// At the end of each minute, the oldest first; nullopt: no worker took it.
    std::vector<std::optional<HourSample>> samples;
};

/// The values at the time of a status.
HourSample sample_of(const Status& status);

/// Writes the hour as the value of a member; module/docs/operations.md describes it.
void write_hour(JsonWriter& json, const Hour& hour);

}  // namespace tollgate
