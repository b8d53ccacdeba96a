#include "module/cli/simulation/log_words.hpp"

#include <algorithm>

namespace tollgate::cli {

namespace {

/// The position of the quote that ends the text; npos if there is none.
std::size_t end_of_quoted(std::string_view text, std::size_t from) {
    for (std::size_t i = text.find_first_of("\"\\", from); i < text.size();
         i = text.find_first_of("\"\\", i + 2)) {
        if (text[i] == '"') {
            return i;
        }
    }
    return std::string_view::npos;
}

/// Takes a word without a quote or bracket at its start; a value in quotes may follow `=`.
bool take_bare_word(std::string_view& rest, LogWord& word) {
    const auto space = std::min(rest.find(' '), rest.size());
    const auto quote = rest.substr(0, space).find("=\"");
    std::size_t end = space;
    if (quote != std::string_view::npos) {
        end = end_of_quoted(rest, quote + 2);
        if (end == std::string_view::npos) {
            return false;
        }
        ++end;
    }
    word = {rest.substr(0, end), '\0'};
    rest.remove_prefix(end);
    return true;
}

}  // namespace

bool split_log_words(std::string_view line, std::vector<LogWord>& words) {
    words.clear();
    while (true) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.empty()) {
            return true;
        }
        const char opening = line.front();
        LogWord word;
        if (opening == '"' || opening == '[') {
            const auto end = opening == '[' ? line.find(']') : end_of_quoted(line, 1);
            if (end == std::string_view::npos) {
                return false;
            }
            word = {line.substr(1, end - 1), opening};
            line.remove_prefix(end + 1);
        } else if (!take_bare_word(line, word)) {
            return false;
        }
        words.push_back(word);
    }
}

}  // namespace tollgate::cli
