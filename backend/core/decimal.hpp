#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace petstore {

/// All of `text` as a decimal int64: digits after an optional minus sign, and nothing else.
inline std::optional<std::int64_t> parse_decimal(std::string_view text) {
    std::int64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last) {
        return std::nullopt;
    }
    return value;
}

/// The value of a JSON number (RFC 8259, section 6), exactly; nothing if it has a fraction or is
/// out of int64's range. `1.0` and `10e-1` are integers: JSON Schema goes by the value. A double
/// couldn't tell `9223372036854775807.0` from its neighbours.
std::optional<std::int64_t> parse_json_integer(std::string_view number);

}  // namespace petstore
