#include "module/key/scopes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "module/text/parse_error.hpp"
#include "module/text/words.hpp"

namespace tollgate {

bool is_valid_scope(std::string_view scope) {
    return !scope.empty() && scope.size() <= kLongestScopes &&
           std::ranges::all_of(
               scope, [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

std::string parse_scopes(std::string_view text) {
    std::vector<std::string_view> tokens;
    for (auto token = next_word(text); !token.empty(); token = next_word(text)) {
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
    for (auto token = next_word(required); !token.empty(); token = next_word(required)) {
        std::string_view scope = next_word(scopes);
        while (!scope.empty() && scope != token) {
            scope = next_word(scopes);
        }
        if (scope.empty()) {
            return false;
        }
    }
    return true;
}

}  // namespace tollgate
