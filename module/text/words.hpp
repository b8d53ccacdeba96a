#pragma once

#include <algorithm>
#include <string_view>

namespace tollgate {

/// Removes the first word and the spaces around it from a text, and returns it; empty if there is
/// none.
inline std::string_view next_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
}

}  // namespace tollgate
