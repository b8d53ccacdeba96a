#include "module/gateway/token_hash.hpp"

#include <openssl/rand.h>
#include <sodium/crypto_shorthash.h>

#include <stdexcept>

namespace tollgate::gateway {

static_assert(crypto_shorthash_siphashx24_KEYBYTES == 16);
static_assert(crypto_shorthash_siphashx24_BYTES == sizeof(TokenHash));

TokenHasher::TokenHasher() {
    if (RAND_bytes(secret_.data(), static_cast<int>(secret_.size())) != 1) {
        throw std::runtime_error("OpenSSL has no random number for the secret of tokens");
    }
}

TokenHash TokenHasher::operator()(std::string_view token) const noexcept {
    TokenHash hash{};
    crypto_shorthash_siphashx24(reinterpret_cast<unsigned char*>(hash.data()),
                                reinterpret_cast<const unsigned char*>(token.data()), token.size(),
                                secret_.data());
    return hash;
}

}  // namespace tollgate::gateway
