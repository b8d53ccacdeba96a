#pragma once

#include <cstddef>
#include <optional>
#include <string>
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

/// The `WWW-Authenticate` field of a 401 (RFC 6750 section 3). The realm is a quoted-string (RFC
/// 9110 section 5.6.4); characters that are not allowed in a field become spaces. If a key was
/// sent, it has `error="invalid_token"`.
std::string bearer_challenge(std::string_view realm, bool key_was_sent);

/// The `WWW-Authenticate` field of a 403 for a key that lacks scopes (RFC 6750 section 3.1).
/// `scopes` are those that the resource requires, separated by spaces. The realm is as above.
std::string insufficient_scope_challenge(std::string_view realm, std::string_view scopes);

}  // namespace tollgate
