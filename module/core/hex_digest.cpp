#include "module/core/hex_digest.hpp"

#include <array>
#include <stdexcept>

namespace tollgate {

void write_hex_digest(const EVP_MD* algorithm, std::string_view text, std::span<char> out) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned int length = 0;
    if (EVP_Digest(text.data(), text.size(), bytes.data(), &length, algorithm, nullptr) != 1 ||
        out.size() != std::size_t{length} * 2) {
        throw std::runtime_error("EVP_Digest failed");
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    for (std::size_t i = 0; i < length; ++i) {
        out[2 * i] = kHex[bytes[i] >> 4U];
        out[2 * i + 1] = kHex[bytes[i] & 0xfU];
    }
}

}  // namespace tollgate
