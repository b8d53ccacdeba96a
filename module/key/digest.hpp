#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace tollgate {

using Sha256 = std::array<unsigned char, 32>;

/// The SHA-256 of a text. Throws std::runtime_error if OpenSSL fails.
Sha256 sha256(std::string_view text);

/// The first 96 bits of the SHA-256 of an id. Among a million ids, two have the same hash with a
/// probability of 2^-57.
using IdHash = std::array<unsigned char, 12>;

/// The hash of an id. Throws std::runtime_error if OpenSSL fails.
IdHash id_hash(std::string_view id);

/// The hash of an id in a group. Its last 32 bits are those of the group's own hash, so that both
/// are in the same stripe of the zone. Without a group, it is the hash of the id. Throws
/// std::runtime_error if OpenSSL fails.
IdHash id_hash(std::string_view id, std::string_view group);

/// Whether both are of the same id, in any groups.
bool is_same_id(const IdHash& a, const IdHash& b);

/// The SHA-1 of a text in hexadecimal, which identifies a script in EVALSHA. Throws
/// std::runtime_error if OpenSSL fails.
std::string sha1_hex(std::string_view text);

/// Bytes in lower-case hexadecimal.
std::string hex(std::span<const unsigned char> bytes);

}  // namespace tollgate
