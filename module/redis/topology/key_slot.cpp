#include "module/redis/topology/key_slot.hpp"

#include <array>

namespace tollgate::redis {

namespace {

constexpr unsigned kPolynomial = 0x1021;

/// The CRC of each byte.
constexpr auto kTable = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        unsigned crc = byte << 8U;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ kPolynomial : crc << 1U;
        }
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}();

std::string_view hashed_part(std::string_view key) noexcept {
    const auto open = key.find('{');
    if (open == key.npos) {
        return key;
    }
    const auto tag = key.substr(open + 1);
    const auto close = tag.find('}');
    return close == tag.npos || close == 0 ? key : tag.substr(0, close);
}

}  // namespace

std::uint16_t crc16(std::string_view bytes) noexcept {
    unsigned crc = 0;
    for (const char c : bytes) {
        const unsigned index = (crc >> 8U) ^ static_cast<unsigned char>(c);
        crc = ((crc << 8U) & 0xffffU) ^ kTable[index];
    }
    return static_cast<std::uint16_t>(crc);
}

Slot key_slot(std::string_view key) noexcept {
    return crc16(hashed_part(key)) % kSlots;
}

}  // namespace tollgate::redis
