#include "module/key/challenge.hpp"

namespace tollgate {

std::string bearer_challenge(std::string_view realm, bool key_was_sent) {
    std::string challenge = "Bearer realm=\"";
    for (const char c : realm) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            challenge += '\\';
        }
        challenge += byte < 0x20 || byte == 0x7f ? ' ' : c;
    }
    challenge += '"';
    if (key_was_sent) {
        challenge += ", error=\"invalid_token\"";
    }
    return challenge;
}

}  // namespace tollgate
