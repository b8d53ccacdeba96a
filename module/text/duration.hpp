#pragma once

#include <chrono>
#include <string_view>

namespace tollgate {

/// Reads a whole number with a unit (`ms`, `s`, `m`, `h`, `d`, `w`; seconds without one), as nginx
/// writes times. From zero to 100 years. Throws ParseError.
std::chrono::milliseconds parse_duration(std::string_view text);

}  // namespace tollgate
