#include "module/management/admin/json_slices.hpp"

#include <algorithm>
#include <cstddef>

namespace tollgate::management {

namespace {

/// Goes through a valid JSON text.
class JsonCursor {
  public:
    explicit JsonCursor(std::string_view text) : text_(text) {}

    /// Whether the next character is this one, which is then passed.
    bool take(char wanted) {
        skip_blanks();
        const bool is_next = at_ < text_.size() && text_[at_] == wanted;
        at_ += is_next ? 1 : 0;
        return is_next;
    }
    /// The next value, which is passed.
    std::string_view take_value() {
        skip_blanks();
        const auto begin = at_;
        int depth = 0;
        do {
            pass_token(depth);
        } while (depth > 0 && at_ < text_.size());
        return text_.substr(begin, at_ - begin);
    }

  private:
    void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
    void pass_token(int& depth) {
        constexpr std::string_view kAfterWord = ",:[]{}\" \t\r\n";
        if (at_ >= text_.size()) {
            return;
        }
        switch (text_[at_]) {
            case '"':
                pass_text();
                return;
            case '{':
            case '[':
                ++depth;
                break;
            case '}':
            case ']':
                --depth;
                break;
            default:
                at_ = std::min(text_.find_first_of(kAfterWord, at_ + 1), text_.size());
                return;
        }
        ++at_;
    }
    void pass_text() {
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            at_ += text_[at_] == '\\' ? 1 : 0;
        }
        at_ = std::min(at_ + 1, text_.size());
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> members_in(std::string_view json) {
    std::vector<std::pair<std::string_view, std::string_view>> members;
    JsonCursor cursor(json);
    if (!cursor.take('{') || cursor.take('}')) {
        return members;
    }
    do {
        const auto name = cursor.take_value();
        if (name.size() < 2 || !cursor.take(':')) {
            break;
        }
        members.emplace_back(name.substr(1, name.size() - 2), cursor.take_value());
    } while (cursor.take(','));
    return members;
}

std::vector<std::string_view> elements_in(std::string_view json) {
    std::vector<std::string_view> elements;
    JsonCursor cursor(json);
    if (!cursor.take('[') || cursor.take(']')) {
        return elements;
    }
    do {
        elements.push_back(cursor.take_value());
    } while (cursor.take(','));
    return elements;
}

}  // namespace tollgate::management
