#include "module/key/redaction.hpp"

#include <algorithm>
#include <array>

#include "module/text/ascii.hpp"

namespace tollgate {

namespace {

constexpr char kBlank = '*';
// With the space: a request line cannot contain it, so a client cannot cause other lines to be
// redacted.
constexpr std::string_view kField = "authorization: ";
constexpr std::string_view kBearer = "bearer ";
/// The words before literals in nginx's debug log of HTTP/3.
constexpr std::array<std::string_view, 6> kLiterals{
    "http3 parse literal done ",
    "http3 parse field ",
    "http3 ref insert ",
    "http3 insert ",
    "http3 evict ",
    "http3 dynamic[",
};

bool ends_line(char c) {
    return c == '\r' || c == '\n';
}

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

/// Replaces the value of each field with this name. The name is the first word of a line or of a
/// quoted text, so that it is not found within other words. A client may send it without the space
/// after the colon, or with spaces before it.
void blank_field(std::string_view name, std::span<char> line) {
    for (auto at = line.begin(); at != line.end();) {
        at = std::search(at, line.end(), name.begin(), name.end(),
                         [](char text, char lower) { return to_lower(text) == lower; });
        if (at == line.end()) {
            return;
        }
        const bool is_first = at == line.begin() || at[-1] == '"' || at[-1] == '\n';
        at += static_cast<std::ptrdiff_t>(name.size());
        const auto is_other = [](char c) { return c != ' ' && c != '\t'; };
        auto colon = std::find_if(at, line.end(), is_other);
        if (is_first && colon != line.end() && *colon == ':') {
            const auto value = std::find_if(colon + 1, line.end(), is_other);
            at = std::find_if(value, line.end(), ends_line);
            std::fill(value, at, kBlank);
        }
    }
}

}  // namespace

void redact_credentials(std::span<char> line, std::span<const std::string> fields) noexcept {
    blank_after(kField, line, ends_line);
    blank_after(kBearer, line,
                [](char c) { return c == ' ' || c == '"' || c == ',' || ends_line(c); });
    for (const std::string& field : fields) {
        blank_field(field, line);
    }
    if (!fields.empty()) {
        for (const std::string_view word : kLiterals) {
            blank_after(word, line, ends_line);
        }
    }
}

void redact_value(std::span<char> line, std::string_view value) noexcept {
    constexpr std::size_t kShortest = 8;
    constexpr std::string_view kClient = ", client: ";
    if (value.size() < kShortest) {
        return;
    }
    const auto end = std::search(line.begin(), line.end(), kClient.begin(), kClient.end());
    auto at = line.begin();
    while ((at = std::search(at, end, value.begin(), value.end())) != end) {
        at = std::fill_n(at, static_cast<std::ptrdiff_t>(value.size()), kBlank);
    }
}

}  // namespace tollgate
