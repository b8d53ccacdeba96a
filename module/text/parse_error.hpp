#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tollgate {

/// A text that an operator wrote is not what it should be; what() says why, without the text's
/// place.
class ParseError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// What the operator wrote, as messages show it.
inline std::string quoted(std::string_view text) {
    return "\"" + std::string(text) + "\"";
}

}  // namespace tollgate
