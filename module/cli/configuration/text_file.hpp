#pragma once

#include <string>

namespace tollgate::cli {

/// The content of a file. Throws std::system_error if it cannot be read.
std::string read_text_file(const std::string& path);

}  // namespace tollgate::cli
