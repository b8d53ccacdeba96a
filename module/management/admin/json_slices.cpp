#include "module/management/admin/json_slices.hpp"

#include <algorithm>
#include <cstddef>

namespace tollgate::management {

namespace {

/// Goes through a valid JSON text.
class JsonCursor {
  public:
    explicit JsonCursor(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

    /// How much of the text was passed.
    std::size_t at() const { return at_; }
    /// Whether nothing follows.
    bool is_at_end() {
        skip_blanks();
        return at_ == text_.size();
    }

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

ListSlices::ListSlices(std::string_view text, std::string_view name, std::size_t most)
    : text_(text), most_(most) {
    JsonCursor cursor(text_);
    if (!cursor.take('{')) {
        return;
    }
    const auto member = cursor.take_value();
    is_list_ = member.size() == name.size() + 2 && member.front() == '"' &&
               member.substr(1, name.size()) == name && cursor.take(':') && cursor.take('[');
    at_ = cursor.at();
}

ListSlices::Next ListSlices::next() {
    if (!is_list_) {
        return Next::kOther;
    }
    JsonCursor between(text_, at_);
    const bool is_first = std::exchange(is_first_, false);
    if (between.take(']')) {
        const bool is_object_end = between.take('}');
        if (!is_object_end) {
            return between.take(',') ? Next::kOther : Next::kInvalid;
        }
        return between.is_at_end() ? Next::kEnd : Next::kInvalid;
    }
    if ((!is_first && !between.take(',')) || between.is_at_end()) {
        return Next::kInvalid;
    }
    // An element is not looked for beyond its longest length.
    const auto window = text_.substr(between.at(), most_ + 1);
    JsonCursor in_element(window);
    element_ = in_element.take_value();
    if (element_.size() > most_) {
        return Next::kTooLong;
    }
    at_ = between.at() + element_.size();
    return Next::kElement;
}

}  // namespace tollgate::management
