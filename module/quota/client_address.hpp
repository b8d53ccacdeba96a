#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tollgate {

/// Whom a budget of failed authentications belongs to: an IPv4 address, or the /64 that a single
/// IPv6 subscriber commands (RFC 6177). Other clients (of a unix socket) all are one.
struct ClientAddress {
    std::uint32_t family = 0;  ///< 4, 6, or 0 for others
    std::array<unsigned char, 8> prefix{};
    bool operator==(const ClientAddress&) const = default;
};

/// From the bytes of an address in network order: 4 of IPv4, 16 of IPv6, of which those that map
/// IPv4 (RFC 4291 section 2.5.5.2) count as IPv4. Other lengths give the address of the others.
ClientAddress client_address(std::span<const unsigned char> bytes);

}  // namespace tollgate
