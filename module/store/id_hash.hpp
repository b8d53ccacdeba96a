#pragma once

#include <array>
#include <string_view>

namespace tollgate {

/// The first 96 bits of the SHA-256 of an id. Among a million ids, two have the same hash with a
/// probability of 2^-57.
using IdHash = std::array<unsigned char, 12>;

/// Throws std::runtime_error if OpenSSL fails.
IdHash id_hash(std::string_view id);

}  // namespace tollgate
