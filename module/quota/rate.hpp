#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/quota/period.hpp"

namespace tollgate {

/// A number of requests in each window of a period.
struct Rate {
    std::int64_t requests;  ///< 1 to 10^12, or kNoLimit
    Period period;
    bool operator==(const Rate&) const = default;
};

/// Rate::requests of a window that counts and refuses nothing. More units are never counted, and a
/// double represents the number exactly, as in Redis's scripts.
constexpr std::int64_t kNoLimit = 9'000'000'000'000'000;

/// A plan has at most this many rates: one script call decides them all, and a header line shows
/// them all.
constexpr std::size_t kMaxRates = 4;

/// A quota has at most this many windows: those of the plan's rates, and the day of a history.
constexpr std::size_t kMaxWindows = kMaxRates + 1;

/// Reads `60r/m`, `100r/15m`, `1000r/month`: a count, `r/`, and a period (see parse_period). Throws
/// ParseError.
Rate parse_rate(std::string_view text);

/// Reads one to kMaxRates rates and sorts them by period, ascending. Throws ParseError, also if two
/// rates have the same period or if a longer period allows less than a shorter one. A month is
/// longer than 30 days and shorter than 31.
std::vector<Rate> parse_rates(std::span<const std::string_view> words);

/// The words of a text that are separated by spaces, as views into it.
std::vector<std::string_view> words_of(std::string_view text);

/// Throws ParseError if windows of these rates cannot slide: months have different lengths, so no
/// part of the last month overlaps a month that ends now.
void require_sliding(std::span<const Rate> rates);

/// Writes a rate as parse_rate reads it.
std::string format_rate(const Rate& rate);

}  // namespace tollgate
