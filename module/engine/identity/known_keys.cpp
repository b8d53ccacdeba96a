#include "module/engine/identity/known_keys.hpp"

#include <openssl/rand.h>
#include <sodium/crypto_shorthash.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "module/zone/named_blocks.hpp"

namespace tollgate::engine {

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

template <std::size_t... kLines>
void prefetch(const char* bytes, std::index_sequence<kLines...> /*lines*/) {
    (__builtin_prefetch(bytes + kLines * kCacheLine), ...);
}

/// Loads all of an object at once: the caller reads most of its cache lines one after the other.
template <typename Object>
void prefetch(const Object& object) {
    constexpr std::size_t kLines = (sizeof(object) + kCacheLine - 1) / kCacheLine;
    prefetch(reinterpret_cast<const char*>(&object), std::make_index_sequence<kLines>());
}

}  // namespace

KnownKeys::Secret KnownKeys::new_secret() {
    Secret secret{};
    if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) {
        throw std::runtime_error("OpenSSL has no random number for the secret of tokens");
    }
    return secret;
}

KnownKeys::KnownKeys() : sets_(kSets), not_admitted_(kSets) {}

TokenHash KnownKeys::hash(std::string_view token) const noexcept {
    return keyed_hash(token, secret_);
}

TokenHash KnownKeys::hash(const SubjectText& subject) const noexcept {
    return keyed_hash(subject.view(), secret_of_subjects_);
}

/// Keys that are used with several sets of tables have a place for each of them.
std::size_t KnownKeys::number_of_set(const TokenHash& token, const TableSet& tables) {
    return (token[0] ^ std::hash<const void*>()(&tables) >> 4U) % kSets;
}

KnownKey* KnownKeys::search(const Set& set, const TokenHash& token, const TableSet& tables) {
    if (set.keys == nullptr) {
        return nullptr;
    }
    for (std::size_t way = 0; way < kWays; ++way) {
        KnownKey& key = (*set.keys)[way];
        if (set.tags[way] == tag_of(token)) {
            prefetch(key);
            if (key.token == token && key.tables == &tables) {
                return &key;
            }
        }
    }
    return nullptr;
}

KnownKey* KnownKeys::find(const TokenHash& token, const TableSet& tables, SteadyTime now) noexcept {
    KnownKey* key = search(set_of(token, tables), token, tables);
    if (key != nullptr) {
        prefetch(*key->record);
        key->used = now;
    }
    return key;
}

bool KnownKeys::admits(const TokenHash& token, const TableSet& tables) noexcept {
    const std::size_t number = number_of_set(token, tables);
    const Set& set = sets_[number];
    // A free place has the tag 0. So has one token in 65,536.
    const bool is_full = std::ranges::find(set.tags, 0) == set.tags.end();
    return !is_full || search(set, token, tables) != nullptr ||
           std::exchange(not_admitted_[number], tag_of(token)) == tag_of(token);
}

KnownKey& KnownKeys::place_for(const TokenHash& token, const TableSet& tables) {
    Set& set = set_of(token, tables);
    if (KnownKey* own = search(set, token, tables)) {
        return *own;
    }
    if (!set.keys) {
        set.keys = std::make_unique<Keys>();
    }
    const auto place = std::ranges::min_element(*set.keys, {}, &KnownKey::used);
    set.tags[static_cast<std::size_t>(place - set.keys->begin())] = tag_of(token);
    return *place;
}

}  // namespace tollgate::engine
