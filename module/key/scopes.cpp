#include "module/key/scopes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "module/text/parse_error.hpp"

namespace tollgate {

namespace {

/// Removes the first token and the spaces around it from the text, and returns it; empty if there
/// is none.
std::string_view next_token(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view token = text.substr(0, text.find(' '));
    text.remove_prefix(token.size());
    return token;
}

}  // namespace

bool is_valid_scope(std::string_view scope) {
    return !scope.empty() && scope.size() <= kLongestScopes &&
           std::ranges::all_of(
               scope, [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

std::string parse_scopes(std::string_view text) {
    std::vector<std::string_view> tokens;
    for (auto token = next_token(text); !token.empty(); token = next_token(text)) {
        if (!is_valid_scope(token)) {
            throw ParseError(
                "invalid scope: use printable ASCII characters except the space, \" and \\");
        }
        tokens.push_back(token);
    }
    std::ranges::sort(tokens);
    // std::ranges::unique of libstdc++ 12 does not compile with clang 14.
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    std::string scopes;
    for (const auto token : tokens) {
        scopes.append(scopes.empty() ? "" : " ").append(token);
    }
    if (scopes.size() > kLongestScopes) {
        throw ParseError("the scopes have more than " + std::to_string(kLongestScopes) + " bytes");
    }
    return scopes;
}

bool contains_scopes(std::string_view scopes, std::string_view required) {
    for (auto token = next_token(required); !token.empty(); token = next_token(required)) {
        std::string_view scope = next_token(scopes);
        while (!scope.empty() && scope != token) {
            scope = next_token(scopes);
        }
        if (scope.empty()) {
            return false;
        }
    }
    return true;
}

}  // namespace tollgate
