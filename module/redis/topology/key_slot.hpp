#pragma once

#include <cstdint>
#include <string_view>

namespace tollgate::redis {

/// A hash slot of Redis Cluster: 0 to kSlots - 1.
using Slot = std::uint16_t;
constexpr Slot kSlots = 16384;

/// CRC-16/XMODEM: polynomial 0x1021, initial value 0, no reflection.
std::uint16_t crc16(std::string_view bytes) noexcept;

/// The hash slot of a key, as Redis Cluster computes it: from the hash tag if the key has one,
/// otherwise from the whole key. The tag is the text between the first `{` and the first `}` after
/// it, and is not empty. (Redis cluster specification, "Hash tags")
Slot key_slot(std::string_view key) noexcept;

}  // namespace tollgate::redis
