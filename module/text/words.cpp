#include "module/text/words.hpp"

namespace tollgate {

std::vector<std::string> word_set(std::string_view text,
                                  const std::function<std::string(std::string_view)>& canonical) {
    std::vector<std::string> words;
    for (auto word = next_word(text); !word.empty(); word = next_word(text)) {
        words.push_back(canonical(word));
    }
    std::ranges::sort(words);
    // std::ranges::unique of libstdc++ 12 does not compile with clang 14.
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
}

std::string join_words(std::span<const std::string> words) {
    std::string text;
    for (const auto& word : words) {
        text.append(text.empty() ? "" : " ").append(word);
    }
    return text;
}

}  // namespace tollgate
