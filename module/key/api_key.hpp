#pragma once

#include <span>
#include <string>
#include <string_view>

#include "module/key/digest.hpp"

namespace tollgate {

/// How the gateway knows a key: the SHA-256 of its text. The text itself is kept nowhere.
using KeyDigest = Sha256;

/// How much randomness an issued key takes, in bytes.
constexpr std::size_t kKeyEntropy = 32;

/// An issued key: `tg_`, 32 base62 characters made of `random` (190 bits), and 6 of checksum: the
/// CRC-32 of all before it, in base62, so that a mistyped key is told from an unknown one with no
/// look-up.
std::string make_api_key(std::span<const unsigned char, kKeyEntropy> random);

/// False for a token that begins as an issued key does and isn't one: wrong length, alphabet or
/// checksum. Tokens that begin otherwise were imported and have no checksum: true.
bool has_valid_checksum(std::string_view token);

}  // namespace tollgate
