#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tollgate {

/// Parses a whole number with a unit (`ms`, `s`, `m`, `h`, `d`, `w`; seconds without one), in
/// nginx's syntax of times. The range is zero to 100 years. Throws ParseError.
std::chrono::milliseconds parse_duration(std::string_view text);

/// Writes a time as parse_duration() reads it, in the largest unit of which it is a multiple.
std::string write_duration(std::chrono::seconds duration);

}  // namespace tollgate
