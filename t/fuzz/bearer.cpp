// The value of an Authorization field, and a realm.

#include "module/key/bearer.hpp"

#include <algorithm>

#include "module/key/challenge.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

void check(std::string_view input) {
    if (const auto token = bearer_token(input)) {
        require(!token->empty() && !token->starts_with(' ') && input.ends_with(*token));
        require(!is_b64token(*token) || token->size() <= kLongestToken);
    }
    const std::string challenge = challenge_text({.realm = input, .error = "invalid_token"});
    require(std::ranges::none_of(
        challenge, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }));
    require(challenge.ends_with("error=\"invalid_token\""));
}

}  // namespace tollgate::fuzz
