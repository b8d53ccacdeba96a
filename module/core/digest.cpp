#include "module/core/digest.hpp"

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

namespace tollgate {

namespace {

void digest(const EVP_MD* algorithm, std::string_view text, std::span<unsigned char> out) {
    unsigned int length = 0;
    if (algorithm == nullptr ||
        EVP_Digest(text.data(), text.size(), out.data(), &length, algorithm, nullptr) != 1 ||
        length != out.size()) {
        throw std::runtime_error("EVP_Digest failed");
    }
}

struct MdDeleter {
    void operator()(EVP_MD* algorithm) const noexcept { EVP_MD_free(algorithm); }
};

}  // namespace

Sha256 sha256(std::string_view text) {
    // Fetched once: OpenSSL 3 looks up what EVP_sha256() names at each use, which takes longer than
    // the digest.
    static const std::unique_ptr<EVP_MD, MdDeleter> algorithm(
        EVP_MD_fetch(nullptr, "SHA256", nullptr));
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): digest fills it
    Sha256 bytes;
    digest(algorithm.get(), text, bytes);
    return bytes;
}

std::string sha1_hex(std::string_view text) {
    std::array<unsigned char, 20> bytes{};
    digest(EVP_sha1(), text, bytes);
    return hex(bytes);
}

std::string hex(std::span<const unsigned char> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const unsigned char byte : bytes) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 0xfU];
    }
    return text;
}

}  // namespace tollgate
