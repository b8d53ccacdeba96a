#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tollgate {

/// A text from an operator is invalid. what() is the reason, without the position.
class ParseError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// The text in quotes, for messages. Not `quoted`: calls with a std::string would also find
/// std::quoted.
inline std::string in_quotes(std::string_view text) {
    return "\"" + std::string(text) + "\"";
}

}  // namespace tollgate
