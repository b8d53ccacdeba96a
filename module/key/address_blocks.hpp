#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tollgate {

/// The bytes of an address in network order: 4 for IPv4, 16 for IPv6. Empty for a client without an
/// IP address (on a unix socket).
using AddressBytes = std::span<const unsigned char>;
inline constexpr std::size_t kIpv4Length = 4;
inline constexpr std::size_t kIpv6Length = 16;

/// The most blocks in a list, and the longest list in the canonical form, in bytes.
inline constexpr std::size_t kMostAddressBlocks = 16;
inline constexpr std::size_t kLongestAddressBlocks = 703;

/// The address without the mapping of IPv4 to IPv6 (RFC 4291 section 2.5.5.2), if it has one.
AddressBytes unmapped_address(AddressBytes address);

/// Parses CIDR blocks (RFC 4632 section 3.1, RFC 4291 section 2.3) that are separated by spaces:
/// `192.0.2.0/24 2001:db8::/32`. An address without a length is a block of its own. Returns the
/// canonical form: sorted, each once, without the bits after the prefix, separated by one space.
/// Throws ParseError if a block is invalid, or if there are more than kMostAddressBlocks.
std::string parse_address_blocks(std::string_view text);

/// Whether one of the blocks, in the canonical form, contains the address.
bool contains_address(std::string_view blocks, AddressBytes address);

}  // namespace tollgate
