#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate {

/// A number of requests in each window of a period.
struct Rate {
    std::int64_t requests;        ///< 1 to 10^12
    std::chrono::seconds period;  ///< 1 second to 366 days
    bool operator==(const Rate&) const = default;
};

/// A plan has at most this many rates: one script call decides them all, and a header line shows
/// them all.
constexpr std::size_t kMaxRates = 4;

/// Reads `60r/m`, `100r/15m`: a count, `r/`, and a unit (`s`, `m`, `h`, `d`) or a multiple of one.
/// Throws ParseError.
Rate parse_rate(std::string_view text);

/// Reads one to kMaxRates rates and sorts them by period, ascending. Throws ParseError, also if two
/// rates have the same period or if a longer period allows less than a shorter one.
std::vector<Rate> parse_rates(std::span<const std::string_view> words);

/// The same from one text, with spaces between the rates: the `limits` of a key's record. Throws
/// ParseError.
std::vector<Rate> parse_rates(std::string_view text);

/// Writes a rate as parse_rate reads it, in the largest unit that divides the period.
std::string format_rate(const Rate& rate);

/// What the period is called in a policy's name: `minute`, `15-minutes`.
std::string period_name(std::chrono::seconds period);

}  // namespace tollgate
