// The value of an Authorization field, and a realm.

#include "module/key/bearer.hpp"

#include <algorithm>
#include <string>

#include "module/key/challenge.hpp"
#include "module/text/ascii.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// RFC 6750 section 2.1: b64token = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"=".
bool matches_b64token(std::string_view text) {
    std::size_t characters = 0;
    while (characters < text.size() &&
           (is_alphanumeric(text[characters]) ||
            std::string_view("-._~+/").find(text[characters]) != std::string_view::npos)) {
        ++characters;
    }
    return characters > 0 &&
           std::ranges::all_of(text.substr(characters), [](char c) { return c == '='; });
}

/// RFC 6750 section 2.1: credentials = "Bearer" 1*SP b64token. RFC 9110 section 11.1: the scheme is
/// case-insensitive. The token may be no b64token.
void check_credentials(std::string_view field) {
    constexpr std::string_view kScheme = "bearer ";
    const bool has_scheme = equals_ignoring_case(field.substr(0, kScheme.size()), kScheme);
    const auto rest = has_scheme ? field.substr(kScheme.size()) : std::string_view();
    const auto begin = std::min(rest.find_first_not_of(' '), rest.size());
    const auto token = bearer_token(field);
    require(token.has_value() == (begin < rest.size()));
    require(!token || *token == rest.substr(begin));
}

}  // namespace

void check(std::string_view input) {
    check_credentials(input);
    for (const auto text : {input, bearer_token(input).value_or("")}) {
        require(is_b64token(text) == (matches_b64token(text) && text.size() <= kLongestToken));
    }
    const std::string token = "Bearer " + std::string(input);
    require(!matches_b64token(input) || bearer_token(token) == input);
    const std::string challenge = challenge_text({.realm = input, .error = "invalid_token"});
    require(std::ranges::none_of(
        challenge, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }));
    require(challenge.ends_with("error=\"invalid_token\""));
}

}  // namespace tollgate::fuzz
