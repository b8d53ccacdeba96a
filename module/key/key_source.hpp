#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// Where a request has its key.
struct KeySource {
    std::string name;    ///< as the operator wrote it: `bearer` or `header:NAME`
    std::string field;   ///< the name of the header field, in lower case
    bool bearer = true;  ///< the field has the scheme Bearer and the key; otherwise the key alone
};

/// Parses `bearer` or `header:NAME`. A NAME has letters, digits, `-` and `_`: nginx drops fields
/// with other names. Throws ParseError.
KeySource parse_key_source(std::string_view text);

/// The name of the header field, as the operator wrote it.
std::string_view field_name(const KeySource& source);

}  // namespace tollgate
