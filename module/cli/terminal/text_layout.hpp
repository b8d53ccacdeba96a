#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// The rows of a table, each with its cells.
using Rows = std::vector<std::vector<std::string>>;

/// Aligns rows in columns. Rows may be added in parts: a column is as wide as its widest cell so
/// far. Cells are escaped by printable().
class ColumnLayout {
  public:
    /// Formats the next rows as lines, each with its line end.
    std::string lines(const Rows& rows);

  private:
    std::vector<std::size_t> widths_;
};

/// Formats rows as lines with aligned columns.
std::string align_columns(const Rows& rows);

/// Wraps a text at word boundaries into lines of up to `width` bytes, each with its line end. A
/// word that is longer than `width` has a line of its own.
std::string wrap_text(std::string_view text, std::size_t width);

}  // namespace tollgate::cli
