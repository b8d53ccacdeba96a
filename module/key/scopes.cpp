#include "module/key/scopes.hpp"

#include <algorithm>

#include "module/text/parse_error.hpp"
#include "module/text/words.hpp"

namespace tollgate {

bool is_valid_scope(std::string_view scope) {
    return !scope.empty() && scope.size() <= kLongestScopes &&
           std::ranges::all_of(
               scope, [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

std::string parse_scopes(std::string_view text) {
    auto scopes = join_words(word_set(text, [](std::string_view scope) {
        if (!is_valid_scope(scope)) {
            throw ParseError(
                "invalid scope: use printable ASCII characters except the space, \" and \\");
        }
        return std::string(scope);
    }));
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
