#include "module/gateway/known_keys.hpp"

#include <openssl/rand.h>
#include <sodium/crypto_shorthash.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace tollgate::gateway {

static_assert(crypto_shorthash_siphashx24_KEYBYTES == 16);
static_assert(crypto_shorthash_siphashx24_BYTES == sizeof(TokenHash));

namespace {

TokenHash keyed_hash(std::string_view text, const std::array<unsigned char, 16>& secret) noexcept {
    TokenHash hash{};
    crypto_shorthash_siphashx24(reinterpret_cast<unsigned char*>(hash.data()),
                                reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                secret.data());
    return hash;
}

}  // namespace

KnownKeys::Secret KnownKeys::new_secret() {
    Secret secret{};
    if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) {
        throw std::runtime_error("OpenSSL has no random number for the secret of tokens");
    }
    return secret;
}

KnownKeys::KnownKeys() : sets_(kSets) {}

TokenHash KnownKeys::hash(std::string_view token) const noexcept {
    return keyed_hash(token, secret_);
}

TokenHash KnownKeys::hash(const SubjectText& subject) const noexcept {
    return keyed_hash(subject.view(), secret_of_subjects_);
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
