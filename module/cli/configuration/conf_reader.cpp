#include "module/cli/configuration/conf_reader.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kConfSpace = " \t\r\n";

bool is_conf_space(char c) {
    return kConfSpace.find(c) != std::string_view::npos;
}

[[noreturn]] void refuse_character(char c) {
    throw ParseError("unexpected " + in_quotes({&c, 1}));
}

[[noreturn]] void refuse_end() {
    throw ParseError("unexpected end of file, expecting \";\" or \"}\"");
}

/// A word without its escapes. A backslash before another character than these remains.
std::string without_escapes(std::string_view text) {
    constexpr std::string_view kEscapes = "\"'\\trn";
    constexpr std::string_view kMeanings = "\"'\\\t\r\n";
    std::string word;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_escape = text[i] == '\\' && i + 1 < text.size();
        const auto escape = is_escape ? kEscapes.find(text[i + 1]) : text.npos;
        word += escape == text.npos ? text[i] : kMeanings[escape];
        i += escape == text.npos ? 0 : 1;
    }
    return word;
}

}  // namespace

char ConfReader::take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    line_ += c == '\n' ? 1 : 0;
    return c;
}

/// Skips white space and comments.
void ConfReader::skip_space() {
    bool in_comment = false;
    while (!rest_.empty() && (in_comment || rest_.front() == '#' || is_conf_space(rest_.front()))) {
        const char c = take();
        in_comment = c != '\n' && (in_comment || c == '#');
    }
}

/// Takes a word in quotes. White space, `;`, `{` or `)` must follow.
std::string ConfReader::quoted_word() {
    const char quote = take();
    const std::string_view text = rest_;
    while (!rest_.empty()) {
        const char c = take();
        if (c == '\\' && !rest_.empty()) {
            take();
        } else if (c == quote) {
            const auto length = text.size() - rest_.size() - 1;
            if (!rest_.empty() && !is_conf_space(rest_.front()) &&
                std::string_view(";{)").find(rest_.front()) == std::string_view::npos) {
                refuse_character(rest_.front());
            }
            return without_escapes(text.substr(0, length));
        }
    }
    refuse_end();
}

/// Takes a word without quotes: `}`, `#` and quotes are part of it, and so is `${`.
std::string ConfReader::bare_word() {
    const std::string_view text = rest_;
    bool in_variable = false;
    while (!rest_.empty()) {
        const char next = rest_.front();
        if (is_conf_space(next) || next == ';' || (next == '{' && !in_variable)) {
            return without_escapes(text.substr(0, text.size() - rest_.size()));
        }
        take();
        in_variable = next == '$' || (next == '{' && in_variable);
        if (next == '\\' && !rest_.empty()) {
            take();
        }
    }
    refuse_end();
}

ConfDirective ConfReader::next() {
    ConfDirective directive;
    while (true) {
        skip_space();
        if (rest_.empty()) {
            if (!directive.words.empty()) {
                refuse_end();
            }
            return directive;
        }
        const char first = rest_.front();
        if (first == ';' || first == '{') {
            take();
            if (directive.words.empty()) {
                refuse_character(first);
            }
            directive.end =
                first == ';' ? ConfDirective::End::kSemicolon : ConfDirective::End::kBlockStart;
            return directive;
        }
        if (first == '}') {
            take();
            if (!directive.words.empty()) {
                refuse_character(first);
            }
            directive.end = ConfDirective::End::kBlockEnd;
            return directive;
        }
        directive.words.push_back(first == '"' || first == '\'' ? quoted_word() : bare_word());
    }
}

std::string read_text_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::system_error(errno, std::generic_category());
    }
    // A failure to read, for example from a directory, is an exception of the library.
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace tollgate::cli
