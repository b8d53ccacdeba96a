#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// The contents of an `Authorization` field, in the form of RFC 6750 section 2.1.
struct Credentials {
    enum class Kind {
        kMissing,    ///< no field, another scheme, or no token after the scheme
        kMalformed,  ///< the Bearer scheme with a token that is not a b64token of at most
                     ///< kLongestToken bytes
        kToken,
    };
    Kind kind;
    std::string_view token;  ///< a view of the field; empty unless kToken
};

/// The maximum length of a token, in bytes.
constexpr std::size_t kLongestToken = 512;

/// Parses the value of an `Authorization` field: the scheme in any case, one or more spaces, and
/// the token.
Credentials parse_bearer(std::string_view field);

/// Whether all of `text` is a b64token (RFC 6750 section 2.1) of at most kLongestToken bytes.
bool is_b64token(std::string_view text);

/// The `WWW-Authenticate` field of a 401 (RFC 6750 section 3). The realm is a quoted-string (RFC
/// 9110 section 5.6.4); characters that are not allowed in a field become spaces. If a key was
/// sent, it has `error="invalid_token"`.
std::string bearer_challenge(std::string_view realm, bool key_was_sent);

}  // namespace tollgate
