#pragma once

#include <string_view>
#include <vector>

namespace tollgate::cli {

/// A word of a line of an access log that is not JSON.
struct LogWord {
    std::string_view text;  ///< without its quotes or brackets
    char opening = '\0';    ///< `"` or `[` if it has them
};

/// Splits a line into words at spaces, as nginx's format `combined` and formats like it need it: a
/// word may be in quotes or in brackets, and the value of `NAME="value"` in quotes. A backslash
/// escapes a quote. Returns false if a quote or a bracket is not closed. `words` is replaced.
bool split_log_words(std::string_view line, std::vector<LogWord>& words);

}  // namespace tollgate::cli
