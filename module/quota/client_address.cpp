#include "module/quota/client_address.hpp"

#include <algorithm>

namespace tollgate {

namespace {

constexpr std::size_t kIpv4Length = 4;
constexpr std::size_t kIpv6Length = 16;
constexpr std::array<unsigned char, kIpv6Length - kIpv4Length> kMappedPrefix{
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

ClientAddress client_address(std::span<const unsigned char> bytes) {
    ClientAddress address;
    if (bytes.size() == kIpv6Length &&
        std::ranges::equal(bytes.first<kMappedPrefix.size()>(), kMappedPrefix)) {
        bytes = bytes.last<kIpv4Length>();
    }
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
