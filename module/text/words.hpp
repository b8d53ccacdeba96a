#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate {

/// Removes the first word and the spaces around it from a text, and returns it; empty if there is
/// none.
inline std::string_view next_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
}

/// The words of a text, each as `canonical` returns it, sorted and each once. What `canonical`
/// throws is passed on.
std::vector<std::string> word_set(std::string_view text,
                                  const std::function<std::string(std::string_view)>& canonical);

/// The words, separated by one space.
std::string join_words(std::span<const std::string> words);

}  // namespace tollgate
