#include "module/cli/terminal/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "module/cli/terminal/utf8.hpp"

namespace tollgate::cli {

namespace {

/// A number in hexadecimal, within a format of printf.
std::string formatted(const char* format, unsigned number) {
    std::array<char, 16> text{};
    const int length = std::snprintf(text.data(), text.size(), format, number);
    return {text.data(), static_cast<std::size_t>(length)};
}

/// Moves the characters at the front that any terminal shows as they are, most of all texts, to the
/// end of `shown`.
void take_plain(std::string_view& text, std::string& shown) {
    const auto end = std::ranges::find_if(text, [](char c) { return c < 0x20 || c > 0x7e; });
    const auto length = static_cast<std::size_t>(end - text.begin());
    shown += text.substr(0, length);
    text.remove_prefix(length);
}

std::string json_escape(char32_t character) {
    if (character < 0x10000) {
        return formatted("\\u%04x", character);
    }
    const char32_t rest = character - 0x10000;  // two surrogates (RFC 8259 section 7)
    return formatted("\\u%04x", 0xd800 + (rest >> 10U)) +
           formatted("\\u%04x", 0xdc00 + (rest & 0x3ffU));
}

}  // namespace

std::string printable(std::string_view text) {
    std::string shown;
    for (take_plain(text, shown); !text.empty(); take_plain(text, shown)) {
        const auto rest = text;
        const auto character = take_character(text);
        if (!character || *character < 0x20) {
            shown += formatted("\\x%02x", static_cast<unsigned char>(rest.front()));
        } else if (is_control_or_format(*character)) {
            shown += formatted("\\u{%x}", *character);
        } else {
            shown += rest.substr(0, rest.size() - text.size());
        }
    }
    return shown;
}

std::string printable_json(std::string_view json) {
    std::string shown;
    for (take_plain(json, shown); !json.empty(); take_plain(json, shown)) {
        const auto rest = json;
        const auto character = take_character(json);
        if (!character) {
            shown += "\\ufffd";
        } else if (*character >= 0x20 && is_control_or_format(*character)) {
            shown += json_escape(*character);
        } else {
            shown += rest.substr(0, rest.size() - json.size());
        }
    }
    return shown;
}

}  // namespace tollgate::cli
