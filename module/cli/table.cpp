#include "module/cli/table.hpp"

#include <algorithm>

namespace tollgate::cli {

namespace {

constexpr std::string_view kGap = "  ";

/// How many characters of UTF-8 a text has, which is how wide most terminals show it.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

std::string printable(std::string_view text) {
    std::string shown;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
        if (byte < 0x20U || byte == 0x7fU) {
            shown += '?';
        } else if (byte == 0xc2U && next >= 0x80U && next < 0xa0U) {  // U+0080 to U+009F
            shown += '?';
            ++i;
        } else {
            shown += text[i];
        }
    }
    return shown;
}

std::string align(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(printable(row[i])));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const auto cell = printable(row[i]);
            text += cell;
            if (i + 1 < row.size()) {
                text.append(widths[i] - width_of(cell), ' ').append(kGap);
            }
        }
        text += '\n';
    }
    return text;
}

}  // namespace tollgate::cli
