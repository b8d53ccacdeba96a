#include "module/cli/random_text.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "module/core/api_key.hpp"

namespace tollgate::cli {

namespace {

template <std::size_t Size>
std::array<unsigned char, Size> random_bytes() {
    std::array<unsigned char, Size> bytes{};
    if (getentropy(bytes.data(), bytes.size()) != 0) {
        throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    return bytes;
}

}  // namespace

std::string random_api_key() {
    return make_api_key(random_bytes<kKeyEntropy>());
}

std::string random_key_id() {
    constexpr std::string_view kAlphabet =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    constexpr std::size_t kPrefixLength = 4;
    constexpr std::size_t kLength = kPrefixLength + 12;
    // Bytes beyond the largest multiple of 62 would make some characters likelier than others.
    constexpr unsigned kFair = 256 - 256 % kAlphabet.size();
    std::string id = "key_";
    while (id.size() < kLength) {
        const unsigned byte = random_bytes<1>().front();
        if (byte < kFair) {
            id += kAlphabet[byte % kAlphabet.size()];
        }
    }
    return id;
}

}  // namespace tollgate::cli
