// The value of an Authorization field, and a realm.

#include "module/key/bearer.hpp"

#include <algorithm>

#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

void check(std::string_view input) {
    const Credentials credentials = parse_bearer(input);
    if (credentials.kind == Credentials::Kind::kToken) {
        require(is_b64token(credentials.token));
        require(input.ends_with(credentials.token));
    } else {
        require(credentials.token.empty());
    }
    const std::string challenge = bearer_challenge(input, true);
    require(std::ranges::none_of(
        challenge, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }));
    require(challenge.ends_with("error=\"invalid_token\""));
}

}  // namespace tollgate::fuzz
