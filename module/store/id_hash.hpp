#pragma once

#include <array>
#include <string_view>

namespace tollgate {

/// An id in 96 bits of its SHA-256: two ids are not told apart with a probability of 2^-57 among a
/// million.
using IdHash = std::array<unsigned char, 12>;

/// Throws std::runtime_error when OpenSSL fails.
IdHash id_hash(std::string_view id);

}  // namespace tollgate
