#pragma once

#include <span>
#include <string>
#include <string_view>

#include "module/key/digest.hpp"

namespace tollgate {

/// The identity of a key in the gateway: the SHA-256 of its text. The text itself is never stored.
using KeyDigest = Sha256;

/// The random bytes of an issued key.
constexpr std::size_t kKeyEntropy = 32;

/// The digits of base 62, the lowest first.
inline constexpr std::string_view kBase62 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The last `length` digits of a large number in base 62, the lowest first. `bytes` is the number,
/// the highest byte first.
std::string base62(std::span<const unsigned char, kKeyEntropy> bytes, std::size_t length);

/// The prefix of issued keys that have no other one.
inline constexpr std::string_view kKeyPrefix = "tg";

/// The length of a hint, in characters.
inline constexpr std::size_t kHintLength = 4;

/// The last characters of a key: people recognize it by them. Empty for a key of less than 20
/// characters, of which they would tell too much.
std::string key_hint(std::string_view key);

/// The longest prefix, in bytes.
inline constexpr std::size_t kLongestKeyPrefix = 32;

/// Whether the text may be the prefix of issued keys: 1 to 32 lower-case letters, digits and `_`, a
/// letter first and no `_` last. It does not begin with `tg_`, which tells keys with a checksum.
bool is_valid_key_prefix(std::string_view prefix);

/// Makes an issued key: the prefix and `_`, 32 base62 characters made of `random` (190 bits), and a
/// checksum of 6 characters: the CRC-32 of everything before it, in base62.
std::string make_api_key(std::span<const unsigned char, kKeyEntropy> random,
                         std::string_view prefix = kKeyPrefix);

/// Whether a token begins with kKeyPrefix and `_`: the checksum of such tokens is checked.
bool has_checked_prefix(std::string_view token);

/// Returns false for a token that begins with `tg_` and has a wrong length, alphabet or checksum: a
/// mistyped key is detected without a look-up. Returns true for other tokens: they may be imported.
bool has_valid_checksum(std::string_view token);

}  // namespace tollgate
