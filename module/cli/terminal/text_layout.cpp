#include "module/cli/terminal/text_layout.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "module/cli/terminal/printable.hpp"
#include "module/text/rfc3339.hpp"
#include "module/text/utf8.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kGap = "  ";

/// The number of UTF-8 characters of a text, which is its width on most terminals.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return !continues_character(c); }));
}

/// The width of a line with columns of these widths.
std::size_t line_width(const std::vector<std::size_t>& widths) {
    std::size_t width = 0;
    for (const auto column : widths) {
        width += column == 0 ? 0 : (width == 0 ? 0 : kGap.size()) + column;
    }
    return width;
}

/// The cell, or its beginning. The beginning of a time is its day, which needs no mark.
std::string shortened(std::string cell, std::size_t width) {
    constexpr std::size_t kDayWidth = 10;
    constexpr std::string_view kMark = "…";
    if (width_of(cell) <= width) {
        return cell;
    }
    const bool is_day = width == kDayWidth && parse_rfc3339(cell).has_value();
    const auto kept = is_day ? width : width - 1;
    std::size_t characters = 0;
    std::size_t end = 0;
    while (end < cell.size() && (continues_character(cell[end]) || characters++ < kept)) {
        ++end;
    }
    cell.resize(end);
    return is_day ? cell : cell.append(kMark);
}

}  // namespace

std::string ColumnLayout::lines(const Rows& rows) {
    for (const auto& row : rows) {
        widths_.resize(std::max(widths_.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths_[i] = std::max(widths_[i], width_of(printable(row[i])));
        }
    }
    const auto widths = narrow_widths();
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (widths[i] == 0) {
                continue;
            }
            const auto cell = shortened(printable(row[i]), widths[i]);
            text += cell;
            if (i + 1 < row.size()) {
                text.append(widths[i] - width_of(cell), ' ').append(kGap);
            }
        }
        text += '\n';
    }
    return text;
}

/// The widths of the columns after as many narrowings as it takes.
std::vector<std::size_t> ColumnLayout::narrow_widths() const {
    auto widths = widths_;
    for (const auto& [column, width] : narrowings_) {
        if (line_width(widths) <= width_) {
            break;
        }
        widths.at(column) = std::min(widths.at(column), width);
    }
    return widths;
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
