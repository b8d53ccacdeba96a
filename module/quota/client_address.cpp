#include "module/quota/client_address.hpp"

#include <algorithm>

namespace tollgate {

namespace {

constexpr std::size_t kIpv4Length = 4;
constexpr std::size_t kIpv6Length = 16;

}  // namespace

ClientAddress client_address(AddressBytes bytes) {
    bytes = unmapped_address(bytes);
    ClientAddress address;
    if (bytes.size() == kIpv4Length) {
        address.family = 4;
        std::ranges::copy(bytes, address.prefix.begin());
    } else if (bytes.size() == kIpv6Length) {
        address.family = 6;
        std::ranges::copy(bytes.first<8>(), address.prefix.begin());
    }
    return address;
}

}  // namespace tollgate
