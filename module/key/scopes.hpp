#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tollgate {

/// The longest list of scopes, in bytes with the spaces between them.
inline constexpr std::size_t kLongestScopes = 256;

/// Whether the text is a scope-token (RFC 6749 section 3.3): printable ASCII characters except the
/// space, `"` and `\`. At most kLongestScopes bytes.
bool is_valid_scope(std::string_view scope);

/// Parses scope-tokens that are separated by spaces, and returns them in the canonical form:
/// sorted, each once, separated by one space. An empty list is an empty text. Throws ParseError if
/// a token is invalid, or if the result is longer than kLongestScopes.
std::string parse_scopes(std::string_view text);

/// Whether a list contains all scopes of another list. Both are in the canonical form.
bool contains_scopes(std::string_view scopes, std::string_view required);

}  // namespace tollgate
