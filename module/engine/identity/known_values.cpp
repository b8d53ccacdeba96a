#include "module/engine/identity/known_values.hpp"

#include <cstring>
#include <functional>

namespace tollgate::engine {

namespace {

/// Eight bytes at the end of a text; all bytes of a shorter one.
std::uint64_t last_bytes(std::string_view text) {
    std::uint64_t bytes = 0;
    if (text.size() >= sizeof(bytes)) {
        std::memcpy(&bytes, text.data() + text.size() - sizeof(bytes), sizeof(bytes));
        return bytes;
    }
    for (const char c : text) {
        bytes = bytes << 8U | static_cast<unsigned char>(c);
    }
    return bytes;
}

/// Faster than the comparison of arrays, which is a call.
bool are_equal(const TokenHash& one, const TokenHash& other) {
    return one[0] == other[0] && one[1] == other[1];
}

}  // namespace

KnownKey* KnownValues::find(const KnownKey& key, std::string_view values) noexcept {
    Recent& recent = recent_of(key, values);
    if (recent.entry != nullptr && are_equal(recent.key, key.token) &&
        std::string_view(recent.text.data(), recent.size) == values &&
        are_equal(recent.entry->token, recent.token) && recent.entry->tables == key.tables) {
        recent.entry->used = key.used;
        return recent.entry;
    }
    KnownKey* const entry = entries_.find(token_of(key, values), *key.tables, key.used);
    if (entry != nullptr && values.size() <= kMostText) {
        recent.key = key.token;
        recent.token = entry->token;
        recent.entry = entry;
        recent.size = static_cast<std::uint32_t>(values.size());
        values.copy(recent.text.data(), values.size());
    }
    return entry;
}

TokenHash KnownValues::token_of(const KnownKey& key, std::string_view values) const noexcept {
    const TokenHash hash = entries_.hash(values);
    return {key.token[0] ^ hash[0], key.token[1] ^ hash[1]};
}

/// A client may choose values that share a place: they are then found by their token.
KnownValues::Recent& KnownValues::recent_of(const KnownKey& key, std::string_view values) noexcept {
    const std::uint64_t mixed = (last_bytes(values) + values.size()) * 0x9e3779b97f4a7c15U ^
                                key.token[0] ^ std::hash<const void*>()(key.tables);
    return recent_[mixed * 0xc4ceb9fe1a85ec53U >> (64 - kBits)];
}

}  // namespace tollgate::engine
