#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tollgate {

/// The client that a budget of failed authentications belongs to: an IPv4 address, or an IPv6 /64,
/// the prefix of a single subscriber (RFC 6177). All other clients (on unix sockets) share one
/// address.
struct ClientAddress {
    std::uint32_t family = 0;  ///< 4, 6, or 0 for others
    std::array<unsigned char, 8> prefix{};
    bool operator==(const ClientAddress&) const = default;
};

/// Makes an address from its bytes in network order: 4 for IPv4, 16 for IPv6. An IPv4-mapped IPv6
/// address (RFC 4291 section 2.5.5.2) counts as IPv4. Other lengths give the address that all other
/// clients share.
ClientAddress client_address(std::span<const unsigned char> bytes);

}  // namespace tollgate
