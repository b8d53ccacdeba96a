#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// Rows of cells as lines of text, the columns aligned. What would steer a terminal is shown as
/// `?`.
std::string align(const std::vector<std::vector<std::string>>& rows);

/// The text on one line, without what would steer a terminal.
std::string printable(std::string_view text);

}  // namespace tollgate::cli
