#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// The challenge of a refusal.
struct Challenge {
    std::string_view realm;
    /// The header field that has the key; empty: `Authorization`, with the scheme Bearer.
    std::string_view field{};
    std::string_view error{};  ///< of RFC 6750 section 3.1; empty: none
    std::string_view scope{};  ///< the scopes that are required; empty: none
};

/// The value of `WWW-Authenticate` (RFC 9110 section 11.6.1, RFC 6750 section 3): `Bearer
/// realm="…"`. For a key in another field there is no registered scheme. As a 401 must have a
/// challenge, it is `ApiKey realm="…", in="header", name="…"`, with the parameters by which OpenAPI
/// describes such a field. The realm is a quoted-string (RFC 9110 section 5.6.4); characters that
/// are not allowed in a field become spaces.
std::string challenge_text(const Challenge& challenge);

}  // namespace tollgate
