#include "module/key/bearer.hpp"

#include <algorithm>
#include <array>

#include "module/text/ascii.hpp"

namespace tollgate {

namespace {

constexpr std::string_view kScheme = "Bearer";

/// Per character, whether a token may contain it before the `=` at its end.
constexpr auto kTokenCharacters = [] {
    std::array<bool, 256> allowed{};
    for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-._~+/")) {
        allowed[static_cast<unsigned char>(c)] = true;
    }
    return allowed;
}();

}  // namespace

bool is_b64token(std::string_view text) {
    if (text.size() > kLongestToken) {
        return false;
    }
    const auto last = text.find_last_not_of('=');
    return last != std::string_view::npos &&
           std::ranges::all_of(text.substr(0, last + 1), [](char c) {
               return kTokenCharacters[static_cast<unsigned char>(c)];
           });
}

std::optional<std::string_view> bearer_token(std::string_view field) {
    const auto scheme = field.substr(0, field.find(' '));
    const auto rest = field.substr(scheme.size());
    const auto token = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
    if (token.empty() || !equals_ignoring_case(scheme, kScheme)) {
        return std::nullopt;
    }
    return token;
}

}  // namespace tollgate
