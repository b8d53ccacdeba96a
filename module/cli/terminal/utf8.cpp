#include "module/cli/terminal/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

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

// Unicode 15.
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

/// The number of bytes of a character, by its first one; 0 where none begins so.
std::size_t length_of(unsigned char first) {
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xc2 || first > 0xf4) {
        return 0;
    }
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

}  // namespace

std::optional<char32_t> take_character(std::string_view& text) {
    constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
    const auto first = static_cast<unsigned char>(text.front());
    const auto length = length_of(first);
    char32_t character = length == 1 ? first : first & (0x7fU >> length);
    bool good = length != 0 && length <= text.size();
    for (std::size_t i = 1; good && i < length; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        good = (byte & 0xc0U) == 0x80U;
        character = character << 6U | (byte & 0x3fU);
    }
    good = good && character >= kLeast.at(length) && character <= 0x10ffff &&
           (character < 0xd800 || character > 0xdfff);
    text.remove_prefix(good ? length : 1);
    return good ? std::optional(character) : std::nullopt;
}

bool is_utf8_line(std::string_view text) {
    while (!text.empty()) {
        const auto character = take_character(text);
        if (!character || is_in(kControls, *character)) {
            return false;
        }
    }
    return true;
}

bool is_control_or_format(char32_t character) {
    return is_in(kControls, character) || is_in(kFormats, character);
}

}  // namespace tollgate::cli
