#include "module/gateway/known_keys.hpp"

#include <openssl/rand.h>
#include <sodium/crypto_shorthash.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace tollgate::gateway {

static_assert(crypto_shorthash_siphashx24_KEYBYTES == 16);
static_assert(crypto_shorthash_siphashx24_BYTES == sizeof(TokenHash));

KnownKeys::KnownKeys() : sets_(kSets) {
    if (RAND_bytes(secret_.data(), static_cast<int>(secret_.size())) != 1) {
        throw std::runtime_error("OpenSSL has no random number for the secret of tokens");
    }
}

TokenHash KnownKeys::hash(std::string_view token) const noexcept {
    TokenHash hash{};
    crypto_shorthash_siphashx24(reinterpret_cast<unsigned char*>(hash.data()),
                                reinterpret_cast<const unsigned char*>(token.data()), token.size(),
                                secret_.data());
    return hash;
}

/// Keys that are used with several sets of tables have a place for each of them.
std::size_t KnownKeys::set_of(const TokenHash& token, const TableSet& tables) {
    return (token[0] ^ std::hash<const void*>()(&tables) >> 4U) % kSets;
}

KnownKey* KnownKeys::find(const TokenHash& token, const TableSet& tables, SteadyTime now) noexcept {
    Set* set = sets_[set_of(token, tables)].get();
    if (set == nullptr) {
        return nullptr;
    }
    for (KnownKey& key : *set) {
        if (key.token == token && key.tables == &tables) {
            key.used = now;
            return &key;
        }
    }
    return nullptr;
}

KnownKey& KnownKeys::place_for(const TokenHash& token, const TableSet& tables) {
    auto& set = sets_[set_of(token, tables)];
    if (!set) {
        set = std::make_unique<Set>();
    }
    const auto own = std::ranges::find_if(
        *set, [&](const KnownKey& key) { return key.token == token && key.tables == &tables; });
    return own != set->end() ? *own : *std::ranges::min_element(*set, {}, &KnownKey::used);
}

}  // namespace tollgate::gateway
