#pragma once

#include <string>
#include <string_view>

namespace tollgate::cli {

/// A member of a JSON object.
struct JsonMember {
    std::string_view name;  ///< as in the text, without quotes
    /// A text without quotes, see without_json_escapes; or a number, a literal, an array, an
    /// object.
    std::string_view value;
    bool is_text = false;
};

/// Reads the members of a line with one JSON object. A JSON library is not used, because it refuses
/// bytes that are not UTF-8: nginx logs what a client sends, and such a line must count.
/// Values that are not texts are skipped and not checked.
class JsonMembers {
  public:
    /// `line` must outlive the object.
    explicit JsonMembers(std::string_view line);

    /// Reads the next member. Returns false at the end of the object or if the text is not one.
    bool next(JsonMember& member);

    /// After next() has returned false: whether the line is a complete object.
    bool is_complete() const { return is_complete_; }

  private:
    void skip_space();
    bool take(char c);
    bool take_text(std::string_view& text);
    bool take_other(std::string_view& value);

    std::string_view rest_;
    bool is_first_ = true;
    bool is_complete_ = false;
};

/// The text of a JSON string: `\"`, `\u00e4` and so on are replaced. Returns the text unchanged if
/// it is not valid.
std::string without_json_escapes(std::string_view text);

}  // namespace tollgate::cli
