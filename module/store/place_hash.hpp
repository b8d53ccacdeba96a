#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace tollgate {

/// The hash of a key for SetAssociative: eight bytes of a digest, which are uniformly distributed,
/// combined with `owner`, which separates owners of the same digest.
inline std::uint64_t place_hash(std::span<const unsigned char, 8> digest, std::uint32_t owner) {
    std::uint64_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash ^ owner * 0x9e3779b97f4a7c15U;  // the golden ratio spreads it over all bits
}

/// The same for bytes that are not uniformly distributed; uses the finalizer of MurmurHash3.
inline std::uint64_t mixed_place_hash(std::span<const unsigned char, 8> bytes,
                                      std::uint32_t owner) {
    std::uint64_t hash = place_hash(bytes, owner);
    hash = (hash ^ hash >> 33U) * 0xff51afd7ed558ccdU;
    hash = (hash ^ hash >> 33U) * 0xc4ceb9fe1a85ec53U;
    return hash ^ hash >> 33U;
}

}  // namespace tollgate
