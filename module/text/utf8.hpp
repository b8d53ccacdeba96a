#pragma once

#include <cstddef>
#include <string_view>

namespace tollgate {

/// The length of the UTF-8 character (RFC 3629) at the start of the text, in bytes; 0 if it is
/// invalid.
std::size_t utf8_length(std::string_view text);

/// Whether a byte continues a UTF-8 character, which begins before it.
constexpr bool continues_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

/// Whether the text is valid UTF-8 without control characters (C0, DEL, C1) and line
/// separators (U+2028, U+2029).
bool is_utf8_line(std::string_view text);

}  // namespace tollgate
