#pragma once

#include <string>

#include "module/cli/terminal/json_document.hpp"

namespace tollgate::cli {

/// What a node's `tollgate_status` told, as tables. Members that another version doesn't have are
/// shown as `-`.
std::string render_status(const Json& status);

}  // namespace tollgate::cli
