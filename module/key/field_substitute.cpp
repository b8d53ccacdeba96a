#include "module/key/field_substitute.hpp"

#include <span>

#include "module/text/ascii.hpp"

namespace tollgate {

namespace {

/// The scheme of the credentials and a space; empty for another one: the text before the first
/// space may be a part of a key.
std::string_view scheme_of(std::string_view sent) {
    for (const std::string_view scheme : {"Bearer ", "Basic "}) {
        if (equals_ignoring_case(sent.substr(0, scheme.size()), scheme)) {
            return scheme;
        }
    }
    return {};
}

}  // namespace

std::string field_substitute(const FieldSecret& secret, const RemovedField& field) {
    // 128 bits: a digest of which a half is not shown cannot be extended.
    constexpr std::size_t kShown = 16;
    std::string text(secret.begin(), secret.end());
    text.append(field.id.empty() ? "value " : "id ");
    text.append(field.id.empty() ? field.sent : field.id);
    const Sha256 digest = sha256(text);
    std::string substitute(scheme_of(field.sent));
    return substitute.append("*").append(hex(std::span(digest).first<kShown>()));
}

}  // namespace tollgate
