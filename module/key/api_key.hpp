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

/// The last `length` digits of a large number in base 62, the lowest first. `bytes` is the number,
/// the highest byte first.
std::string base62(std::span<const unsigned char, kKeyEntropy> bytes, std::size_t length);

/// Makes an issued key: `tg_`, 32 base62 characters made of `random` (190 bits), and a checksum of
/// 6 characters: the CRC-32 of everything before it, in base62. The checksum detects a mistyped key
/// without a look-up.
std::string make_api_key(std::span<const unsigned char, kKeyEntropy> random);

/// Returns false for a token that starts like an issued key and has a wrong length, alphabet or
/// checksum. Other tokens were imported and have no checksum: returns true.
bool has_valid_checksum(std::string_view token);

}  // namespace tollgate
