#pragma once

#include <string_view>

namespace tollgate::cli {

/// How results are shown: tables to read, or one JSON document.
enum class Format { kText, kJson };

/// Writes to standard output; false when that fails.
bool print(std::string_view text);

/// Writes to standard output. When its reader is gone (EPIPE), the process ends by SIGPIPE, as
/// other commands do. Throws Failure when it can't be written for another reason.
void require_print(std::string_view text);

/// Writes a warning to standard error, on a line that begins with the command's name.
void warn(std::string_view text);

}  // namespace tollgate::cli
