#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tollgate::gateway {

/// A keyed hash of a token: SipHash-2-4 with 128 bits. Nobody who does not know the secret can make
/// two tokens with the same hash, and the hash does not reveal the token.
using TokenHash = std::array<std::uint64_t, 2>;

/// Hashes tokens under a random secret of its own. A process that is forked from another one makes
/// its own hasher.
class TokenHasher {
  public:
    /// Throws std::runtime_error if OpenSSL has no random number.
    TokenHasher();

    TokenHash operator()(std::string_view token) const noexcept;

  private:
    std::array<unsigned char, 16> secret_{};
};

}  // namespace tollgate::gateway
