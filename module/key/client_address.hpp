#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "module/key/address_blocks.hpp"

namespace tollgate {

/// The client that a budget of failed authentications belongs to: an IPv4 address, or an IPv6 /64,
/// the prefix of a single subscriber (RFC 6177). All other clients (on unix sockets) share one
/// address.
struct ClientAddress {
    std::uint32_t family = 0;  ///< 4, 6, or 0 for others
    std::array<unsigned char, 8> prefix{};
    bool operator==(const ClientAddress&) const = default;
};

/// The address in hexadecimal: 8 digits for IPv4, 16 for an IPv6 /64, `0` for all others.
std::string address_text(const ClientAddress& address);

/// The client with this address. An IPv4-mapped IPv6 address counts as IPv4. Other lengths than
/// those of IPv4 and IPv6 give the address that all other clients share.
ClientAddress client_address(AddressBytes bytes);

}  // namespace tollgate
