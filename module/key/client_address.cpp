#include "module/key/client_address.hpp"

#include <algorithm>
#include <string_view>

namespace tollgate {

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

std::string address_text(const ClientAddress& address) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (address.family == 0) {
        return "0";
    }
    std::string text;
    const std::size_t length = address.family == 4 ? kIpv4Length : address.prefix.size();
    for (const unsigned char byte : std::span(address.prefix).first(length)) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 0xfU];
    }
    return text;
}

}  // namespace tollgate
