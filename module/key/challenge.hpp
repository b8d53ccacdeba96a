#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// The `WWW-Authenticate` field of a 401 (RFC 6750 section 3): the realm as a quoted-string (RFC
/// 9110 section 5.6.4), in which characters that a field can't hold become spaces, and
/// `error="invalid_token"` where a key was sent.
std::string bearer_challenge(std::string_view realm, bool key_was_sent);

}  // namespace tollgate
