#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "module/text/whole_number.hpp"

namespace petstore {

/// All of `text` as a decimal int64: digits after an optional minus sign. Nothing for any other
/// text.
inline std::optional<std::int64_t> parse_int64(std::string_view text) {
    using Limits = std::numeric_limits<std::int64_t>;
    return tollgate::parse_whole_number(text, Limits::min(), Limits::max());
}

/// The exact value of a JSON number (RFC 8259, section 6); nothing if it has a fraction or is
/// outside of int64. `1.0` and `10e-1` are integers, because JSON Schema compares values. The
/// number is not converted to a double, which can't hold 9223372036854775807.
std::optional<std::int64_t> parse_json_integer(std::string_view number);

}  // namespace petstore
