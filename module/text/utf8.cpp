#include "module/text/utf8.hpp"

namespace tollgate {

std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto continues = [&](std::size_t i) {
        return i < text.size() && continues_character(text[i]);
    };
    const unsigned first = byte(0);
    const unsigned second = byte(1);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return continues(1) ? 2 : 0;
    }
    if (first >= 0xe0 && first <= 0xef) {
        const bool overlong = first == 0xe0 && second < 0xa0;
        const bool surrogate = first == 0xed && second > 0x9f;
        return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const bool overlong = first == 0xf0 && second < 0x90;
        const bool too_large = first == 0xf4 && second > 0x8f;
        return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
    }
    return 0;
}

bool is_utf8_line(std::string_view text) {
    while (!text.empty()) {
        const auto length = utf8_length(text);
        const auto first = static_cast<unsigned char>(text.front());
        // C1 is U+0080 to U+009F.
        const bool is_c1 =
            length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
        const bool is_separator =
            text.starts_with("\xe2\x80\xa8") || text.starts_with("\xe2\x80\xa9");
        if (length == 0 || first < 0x20 || first == 0x7f || is_c1 || is_separator) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace tollgate
