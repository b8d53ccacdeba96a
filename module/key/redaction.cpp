#include "module/key/redaction.hpp"

#include <algorithm>
#include <string_view>

#include "module/text/ascii.hpp"

namespace tollgate {

namespace {

constexpr char kBlank = '*';
// With the space: a request line cannot contain it, so a client cannot cause other lines to be
// redacted.
constexpr std::string_view kField = "authorization: ";
constexpr std::string_view kBearer = "bearer ";

/// Replaces the text after each `word`, except spaces and quotes, up to the first character for
/// which `ends` returns true.
template <typename Ends>
void blank_after(std::string_view word, std::span<char> line, Ends ends) {
    // Backwards: a word that is part of another one's text is found before that text is replaced.
    for (auto rest = line;;) {
        const auto at =
            std::find_end(rest.begin(), rest.end(), word.begin(), word.end(),
                          [](char text, char lower) { return to_lower(text) == lower; });
        if (at == rest.end()) {
            return;
        }
        const auto text = std::find_if(at + static_cast<std::ptrdiff_t>(word.size()), line.end(),
                                       [](char c) { return c != ' ' && c != '"'; });
        std::fill(text, std::find_if(text, line.end(), ends), kBlank);
        rest = rest.first(static_cast<std::size_t>(at - rest.begin()));
    }
}

}  // namespace

void redact_credentials(std::span<char> line) noexcept {
    blank_after(kField, line, [](char c) { return c == '\r' || c == '\n'; });
    blank_after(kBearer, line,
                [](char c) { return c == ' ' || c == '"' || c == ',' || c == '\r' || c == '\n'; });
}

}  // namespace tollgate
