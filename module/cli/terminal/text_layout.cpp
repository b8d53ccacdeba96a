#include "module/cli/terminal/text_layout.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "module/cli/terminal/printable.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kGap = "  ";

/// The number of UTF-8 characters of a text, which is its width on most terminals.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

std::string ColumnLayout::lines(const Rows& rows) {
    for (const auto& row : rows) {
        widths_.resize(std::max(widths_.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths_[i] = std::max(widths_[i], width_of(printable(row[i])));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const auto cell = printable(row[i]);
            text += cell;
            if (i + 1 < row.size()) {
                text.append(widths_[i] - width_of(cell), ' ').append(kGap);
            }
        }
        text += '\n';
    }
    return text;
}

std::string align_columns(const Rows& rows) {
    return ColumnLayout().lines(rows);
}

std::string wrap_text(std::string_view text, std::size_t width) {
    std::istringstream words{std::string(text)};
    std::string word;
    std::string line;
    std::string result;
    while (words >> word) {
        if (!line.empty() && line.size() + 1 + word.size() > width) {
            result += line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    return line.empty() ? result : result + line + "\n";
}

}  // namespace tollgate::cli
