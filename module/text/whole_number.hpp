#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tollgate {

/// Parses the whole text as a decimal number from `least` to `most`; nullopt for any other text.
/// The only sign allowed is a minus.
inline std::optional<std::int64_t> parse_whole_number(std::string_view text, std::int64_t least,
                                                      std::int64_t most) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || number < least || number > most) {
        return std::nullopt;
    }
    return number;
}

/// Whether a number of JSON is written as an integer: without a fraction and an exponent.
inline bool is_integer(std::string_view number) {
    return number.find_first_of(".eE") == std::string_view::npos;
}

}  // namespace tollgate
