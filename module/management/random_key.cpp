#include "module/management/random_key.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "module/key/api_key.hpp"
#include "module/key/digest.hpp"

namespace tollgate::management {

namespace {

template <std::size_t Size>
std::array<unsigned char, Size> random_bytes() {
    std::array<unsigned char, Size> bytes{};
    if (getentropy(bytes.data(), bytes.size()) != 0) {
        throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    return bytes;
}

/// What generated ids begin with.
constexpr const char* kIdBegin = "key_";

// 62^12 is about 2^71.
constexpr std::size_t kIdLength = 12;

/// Appends `length` random letters and digits to a text.
std::string random_text(std::string text, std::size_t length) {
    // Reject bytes from the largest multiple of 62 up. They would make some characters more likely.
    constexpr unsigned kFair = 256 - 256 % kBase62.size();
    for (length += text.size(); text.size() < length;) {
        const unsigned byte = random_bytes<1>().front();
        if (byte < kFair) {
            text += kBase62[byte % kBase62.size()];
        }
    }
    return text;
}

}  // namespace

std::string random_api_key(std::string_view prefix) {
    return make_api_key(random_bytes<kKeyEntropy>(), prefix.empty() ? kKeyPrefix : prefix);
}

std::string random_key_id() {
    return random_text(kIdBegin, kIdLength);
}

std::string derived_key_id(std::string_view text) {
    const auto digest = sha256(text);
    return kIdBegin + base62(digest, kIdLength);
}

std::string random_operation_name() {
    return random_text("", kIdLength);
}

}  // namespace tollgate::management
