#pragma once

#include <string_view>

namespace tollgate::cli {

/// The format of results: text in columns, or one JSON document (`--json`).
enum class Format { kText, kJson };

/// Writes to standard output. Returns false and sets errno if it fails.
bool print(std::string_view text);

/// Writes to standard output. If the reader has closed the pipe (EPIPE), the process ends with
/// SIGPIPE, as other commands do. Throws Failure for any other error.
void require_print(std::string_view text);

/// Writes a line `tollgate: warning: …` to standard error.
void warn(std::string_view text);

/// Opens the standard streams that the caller has closed, so that a connection or a file does not
/// get their numbers: what is printed must not be sent to Redis. Reading from or writing to them
/// fails. Throws std::system_error.
void occupy_standard_streams();

}  // namespace tollgate::cli
