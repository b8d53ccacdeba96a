#pragma once

#include <chrono>
#include <string_view>

namespace tollgate {

/// Parses a whole number with a unit (`ms`, `s`, `m`, `h`, `d`, `w`; seconds without one), in
/// nginx's syntax of times. The range is zero to 100 years. Throws ParseError.
std::chrono::milliseconds parse_duration(std::string_view text);

}  // namespace tollgate
