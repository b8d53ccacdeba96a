#pragma once

#include <string>

#include "module/cli/terminal/output.hpp"

namespace tollgate::cli {

/// Requests the `tollgate_status` of a node and prints it: as tables, or the JSON as received.
/// `url` is a URL that parse_http_url accepts. Throws Failure.
void print_node_status(const std::string& url, Format format);

}  // namespace tollgate::cli
