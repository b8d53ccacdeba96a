#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tollgate {

/// Encodes a text for a part of a URI (RFC 3986 section 2.1). Unreserved characters remain.
std::string percent_encode(std::string_view text);

/// Decodes a part of a URI. Empty if `%` is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace tollgate
