#include "module/cli/terminal/printable.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>

#include "module/text/utf8.hpp"

namespace tollgate::cli {

namespace {

struct Range {
    char32_t first;
    char32_t last;
};

constexpr std::array kControls{
    Range{0x00, 0x1f},
    Range{0x7f, 0x9f},
    Range{0x2028, 0x2029},
};

// Format characters (category Cf) of Unicode 15.
constexpr std::array kFormats{
    Range{0xad, 0xad},       Range{0x600, 0x605},     Range{0x61c, 0x61c},
    Range{0x6dd, 0x6dd},     Range{0x70f, 0x70f},     Range{0x890, 0x891},
    Range{0x8e2, 0x8e2},     Range{0x180e, 0x180e},   Range{0x200b, 0x200f},
    Range{0x202a, 0x202e},   Range{0x2060, 0x2064},   Range{0x2066, 0x206f},
    Range{0xfeff, 0xfeff},   Range{0xfff9, 0xfffb},   Range{0x110bd, 0x110bd},
    Range{0x110cd, 0x110cd}, Range{0x13430, 0x1343f}, Range{0x1bca0, 0x1bca3},
    Range{0x1d173, 0x1d17a}, Range{0xe0001, 0xe0001}, Range{0xe0020, 0xe007f},
};

bool is_in(const auto& ranges, char32_t character) {
    return std::ranges::any_of(ranges, [&](const Range& range) {
        return range.first <= character && character <= range.last;
    });
}

/// The escape sequence of a character, with a printf format for its number.
std::string escape(const char* format, unsigned number) {
    std::array<char, 16> text{};
    const int length = std::snprintf(text.data(), text.size(), format, number);
    return {text.data(), static_cast<std::size_t>(length)};
}

/// Moves the printable ASCII characters at the front of `text` to the end of `shown`. Most texts
/// contain nothing else.
void take_plain(std::string_view& text, std::string& shown) {
    const auto end = std::ranges::find_if(text, [](char c) { return c < 0x20 || c > 0x7e; });
    const auto length = static_cast<std::size_t>(end - text.begin());
    shown += text.substr(0, length);
    text.remove_prefix(length);
}

std::string json_escape(char32_t character) {
    if (character < 0x10000) {
        return escape("\\u%04x", character);
    }
    const char32_t rest = character - 0x10000;  // two surrogates (RFC 8259 section 7)
    return escape("\\u%04x", 0xd800 + (rest >> 10U)) + escape("\\u%04x", 0xdc00 + (rest & 0x3ffU));
}

/// Removes and returns the first UTF-8 character (RFC 3629) of a text that is not empty. If the
/// text does not begin with a valid character, removes one byte and returns nothing.
std::optional<char32_t> take_character(std::string_view& text) {
    const auto length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    char32_t character = length < 2 ? first : first & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        character = character << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
    return length == 0 ? std::nullopt : std::optional(character);
}

/// Whether a terminal may interpret or hide a character: control characters, line separators and
/// format characters (Unicode category Cf), for example those that change the writing direction.
bool is_control_or_format(char32_t character) {
    return is_in(kControls, character) || is_in(kFormats, character);
}

}  // namespace

std::string printable(std::string_view text) {
    std::string shown;
    for (take_plain(text, shown); !text.empty(); take_plain(text, shown)) {
        const auto rest = text;
        const auto character = take_character(text);
        if (!character || *character < 0x20) {
            shown += escape("\\x%02x", static_cast<unsigned char>(rest.front()));
        } else if (is_control_or_format(*character)) {
            shown += escape("\\u{%x}", *character);
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
