#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace tollgate {

using Sha256 = std::array<unsigned char, 32>;

/// The SHA-256 of a text. Throws std::runtime_error if OpenSSL fails.
Sha256 sha256(std::string_view text);

/// The SHA-1 of a text in hexadecimal, which identifies a script in EVALSHA. Throws
/// std::runtime_error if OpenSSL fails.
std::string sha1_hex(std::string_view text);

/// Bytes in lower-case hexadecimal.
std::string hex(std::span<const unsigned char> bytes);

}  // namespace tollgate
