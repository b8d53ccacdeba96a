#pragma once

#include <optional>
#include <string_view>

namespace tollgate::cli {

/// Takes the first character of a text that is not empty off its front. Nothing where the text does
/// not begin with a character of UTF-8 (RFC 3629); it loses one byte then.
std::optional<char32_t> take_character(std::string_view& text);

/// Whether a text is UTF-8 without control characters (C0, DEL, C1) and line separators.
bool is_utf8_line(std::string_view text);

/// Whether a terminal may act on a character, or show it as nothing: control characters, line
/// separators, and format characters (Unicode's category Cf), such as those that change the
/// direction of writing.
bool is_control_or_format(char32_t character);

}  // namespace tollgate::cli
