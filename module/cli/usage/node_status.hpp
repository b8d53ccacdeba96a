#pragma once

#include <string>

#include "module/cli/terminal/output.hpp"

namespace tollgate::cli {

/// Fetches a node's `tollgate_status` and prints it: as tables, or the JSON as it came. Throws
/// Failure.
void print_node_status(const std::string& url, Format format);

}  // namespace tollgate::cli
