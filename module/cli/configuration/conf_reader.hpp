#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// A directive of a configuration of nginx, or the end of a block or of the text.
struct ConfDirective {
    enum class End {
        kSemicolon,   ///< a simple directive
        kBlockStart,  ///< a directive with a block, which follows
        kBlockEnd,    ///< `}`; no words
        kTextEnd,     ///< no words
    };
    std::vector<std::string> words;  ///< its name first, without quotes and escapes
    End end = End::kTextEnd;
};

/// Splits a configuration of nginx into directives, with nginx's rules for words, quotes, escapes
/// and comments (ngx_conf_read_token). nginx's limit of 4096 bytes for a word does not apply.
class ConfReader {
  public:
    /// `text` must outlive the object.
    explicit ConfReader(std::string_view text) : rest_(text) {}

    /// The next directive. Throws ParseError with nginx's message.
    ConfDirective next();

    /// The line where the last directive or error ended, counted from 1. nginx's messages have the
    /// same one.
    std::size_t line() const { return line_; }

  private:
    void skip_space();
    char take();
    std::string quoted_word();
    std::string bare_word();

    std::string_view rest_;
    std::size_t line_ = 1;
};

/// The content of a file. Throws std::system_error if it cannot be read.
std::string read_text_file(const std::string& path);

}  // namespace tollgate::cli
