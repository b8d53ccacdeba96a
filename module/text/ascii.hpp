#pragma once

#include <algorithm>
#include <string_view>

namespace tollgate {

/// The lower-case form of an ASCII letter, regardless of the locale. Other characters are
/// unchanged.
constexpr char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Whether two names are equal, as HTTP compares schemes and field names (RFC 9110 sections 5.1 and
/// 11.1).
constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
    return a == b || std::ranges::equal(a, b, {}, to_lower, to_lower);  // most are the same
}

}  // namespace tollgate
