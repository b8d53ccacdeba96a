#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/plan/rate.hpp"

namespace tollgate {

/// The largest `in_flight`.
inline constexpr std::int64_t kMostInFlight = 1'000'000;

/// What a plan, or the record of a key with a `custom` plan, allows.
struct Limits {
    std::vector<Rate> rates;     ///< ascending by period; empty: unlimited
    std::int64_t in_flight = 0;  ///< requests at a time; 0: any number
    bool allows_over = false;    ///< `over=allow`: the rates refuse nothing, see Plan

    bool operator==(const Limits&) const = default;
};

/// A limit of requests in flight, as it is shown. Lives as long as its quota.
struct FlightState {
    std::string_view table;
    std::string_view policy;
    std::int64_t limit = 0;
    std::int64_t requests = 0;  ///< of this node, and the places of the others

    std::int64_t remaining() const { return std::max<std::int64_t>(limit - requests, 0); }
};

/// Takes `in_flight=N` out of the words, if it is among them. Returns N; 0 without it. Throws
/// ParseError, also for a second one.
std::int64_t take_in_flight(std::vector<std::string_view>& words);

/// Takes `over=allow` out of the words, if it is the last one. Returns whether it is. Throws
/// ParseError for another `over=`.
bool take_over_parameter(std::vector<std::string_view>& words);

/// Throws ParseError unless these rates can be soft: they are windows.
void require_windows(std::span<const Rate> rates);

/// Reads rates as parse_rates, or `unlimited`, and optionally `in_flight=N` and, last,
/// `over=allow`. Throws ParseError.
Limits parse_limits(std::span<const std::string_view> words);

/// Reads limits from one text, the `limits` of a key's record, with spaces between the words.
/// Throws ParseError.
Limits parse_limits(std::string_view text);

/// Writes limits as parse_limits reads them.
std::string format_limits(const Limits& limits);

}  // namespace tollgate
