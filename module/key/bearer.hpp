#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tollgate {

/// The maximum length of a token, in bytes.
constexpr std::size_t kLongestToken = 512;

/// The token in the value of an `Authorization` field: what follows the scheme Bearer, in any case,
/// and one or more spaces (RFC 6750 section 2.1). A view of the field; nothing if there is another
/// scheme or no token. is_b64token() tells whether the token is well-formed.
std::optional<std::string_view> bearer_token(std::string_view field);

/// Whether all of `text` is a b64token (RFC 6750 section 2.1) of at most kLongestToken bytes.
bool is_b64token(std::string_view text);

/// What such a token consists of: for messages.
inline constexpr std::string_view kTokenRule =
    "1 to 512 letters, digits and -._~+/, optionally followed by =";

}  // namespace tollgate
