#pragma once

#include <openssl/evp.h>

#include <span>
#include <string_view>

namespace tollgate {

/// Writes the text's digest in lower-case hexadecimal to `out`, which has two characters a byte of
/// it. Throws std::runtime_error when OpenSSL fails, or `out` has another length.
void write_hex_digest(const EVP_MD* algorithm, std::string_view text, std::span<char> out);

}  // namespace tollgate
