#pragma once

#include <stdexcept>

namespace tollgate {

/// A text that an operator wrote is not what it should be; what() says why, without the text's
/// place.
class ParseError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

}  // namespace tollgate
