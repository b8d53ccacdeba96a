#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// The `WWW-Authenticate` field of a 401 (RFC 6750 section 3). The realm is a quoted-string (RFC
/// 9110 section 5.6.4); characters that are not allowed in a field become spaces. If a key was
/// sent, it has `error="invalid_token"`.
std::string bearer_challenge(std::string_view realm, bool key_was_sent);

}  // namespace tollgate
