#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// The rows of a table, each with its cells.
using Rows = std::vector<std::vector<std::string>>;

/// A way to make a table narrower: a column gets no wider than `width`; 0 leaves the column out.
struct Narrowing {
    std::size_t column;
    std::size_t width;
};

/// Aligns rows in columns. Rows may be added in parts: a column is as wide as its widest cell so
/// far. Cells are escaped by printable().
class ColumnLayout {
  public:
    ColumnLayout() = default;
    /// Lines are up to `width` characters long: as many of the `narrowings` are applied as it
    /// takes, the first ones first.
    ColumnLayout(std::size_t width, std::span<const Narrowing> narrowings)
        : width_(width), narrowings_(narrowings.begin(), narrowings.end()) {}

    /// Formats the next rows as lines, each with its line end.
    std::string lines(const Rows& rows);

  private:
    std::vector<std::size_t> narrow_widths() const;

    std::vector<std::size_t> widths_;  ///< of the widest cells
    std::size_t width_ = std::numeric_limits<std::size_t>::max();
    std::vector<Narrowing> narrowings_;
};

/// Formats rows as lines with aligned columns.
std::string align_columns(const Rows& rows);

/// Wraps a text at word boundaries into lines of up to `width` bytes, each with its line end. A
/// word that is longer than `width` has a line of its own.
std::string wrap_text(std::string_view text, std::size_t width);

}  // namespace tollgate::cli
