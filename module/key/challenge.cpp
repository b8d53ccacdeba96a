#include "module/key/challenge.hpp"

namespace tollgate {

namespace {

std::string quoted_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            quoted += '\\';
        }
        quoted += byte < 0x20 || byte == 0x7f ? ' ' : c;
    }
    return quoted + '"';
}

}  // namespace

std::string challenge_text(const Challenge& challenge) {
    std::string text = challenge.field.empty() ? "Bearer realm=" : "ApiKey realm=";
    text += quoted_string(challenge.realm);
    const auto add = [&](std::string_view name, std::string_view value) {
        if (!value.empty()) {
            text.append(", ").append(name).append("=").append(quoted_string(value));
        }
    };
    add("in", challenge.field.empty() ? "" : "header");
    add("name", challenge.field);
    add("error", challenge.error);
    add("scope", challenge.scope);
    return text;
}

}  // namespace tollgate
