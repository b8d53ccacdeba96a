#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

using Rows = std::vector<std::vector<std::string>>;

/// Lines of text with aligned columns, which may come in parts: a column is as wide as its widest
/// cell so far. Cells are made printable().
class ColumnLayout {
  public:
    /// The next rows as lines.
    std::string lines(const Rows& rows);

  private:
    std::vector<std::size_t> widths_;
};

/// All rows of a table as lines.
std::string align_columns(const Rows& rows);

/// Words in lines of at most so many bytes, where a word isn't longer; each with its line end.
std::string wrap_text(std::string_view text, std::size_t width);

}  // namespace tollgate::cli
