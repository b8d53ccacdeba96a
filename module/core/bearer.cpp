#include "module/core/bearer.hpp"

#include <algorithm>

#include "module/core/ascii.hpp"

namespace tollgate {

namespace {

constexpr std::string_view kScheme = "bearer";

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_b64token(std::string_view text) {
    if (text.size() > kLongestToken) {
        return false;
    }
    const auto last = text.find_last_not_of('=');
    return last != std::string_view::npos &&
           std::ranges::all_of(text.substr(0, last + 1), [](char c) {
               return is_alphanumeric(c) ||
                      std::string_view("-._~+/").find(c) != std::string_view::npos;
           });
}

Credentials parse_bearer(std::string_view field) {
    const auto scheme = field.substr(0, field.find(' '));
    const auto rest = field.substr(scheme.size());
    const auto token = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
    if (!equals_ignoring_case(scheme, kScheme) || token.empty()) {
        return {Credentials::Kind::kMissing, {}};
    }
    if (!is_b64token(token)) {
        return {Credentials::Kind::kMalformed, {}};
    }
    return {Credentials::Kind::kToken, token};
}

}  // namespace tollgate
