#include "module/key/address_blocks.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"
#include "module/text/words.hpp"

namespace tollgate {

namespace {

constexpr std::array<unsigned char, kIpv6Length - kIpv4Length> kMappedPrefix{
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct Block {
    std::size_t length = 0;  ///< of the address, in bytes
    std::array<unsigned char, kIpv6Length> bytes{};
    std::size_t bits = 0;  ///< of the prefix
};

std::size_t common_bits(AddressBytes one, AddressBytes other) {
    const auto at = std::ranges::mismatch(one, other);
    const auto same = static_cast<std::size_t>(at.in1 - one.begin());
    if (at.in1 == one.end()) {
        return same * 8;
    }
    const auto different = static_cast<unsigned char>(*at.in1 ^ *at.in2);
    return same * 8 + static_cast<std::size_t>(std::countl_zero(different));
}

void clear_after(Block& block) {
    for (std::size_t i = 0; i < block.length; ++i) {
        const std::size_t kept = std::clamp<std::size_t>(block.bits, i * 8, i * 8 + 8) - i * 8;
        block.bytes[i] &= static_cast<unsigned char>(0xff00U >> kept);
    }
}

/// nullopt if the text is not a block.
std::optional<Block> read_block(std::string_view text) {
    const std::string address(text.substr(0, text.find('/')));
    Block block;
    block.length = address.find(':') == std::string::npos ? kIpv4Length : kIpv6Length;
    block.bits = block.length * 8;
    const int family = block.length == kIpv4Length ? AF_INET : AF_INET6;
    if (address.find('\0') != std::string::npos ||
        inet_pton(family, address.c_str(), block.bytes.data()) != 1) {
        return std::nullopt;
    }
    if (address.size() < text.size()) {
        const auto bits = parse_whole_number(text.substr(address.size() + 1), 0,
                                             static_cast<std::int64_t>(block.bits));
        if (!bits) {
            return std::nullopt;
        }
        block.bits = static_cast<std::size_t>(*bits);
    }
    const AddressBytes bytes = AddressBytes(block.bytes).first(block.length);
    const AddressBytes unmapped = unmapped_address(bytes);
    constexpr std::size_t kMappedBits = kMappedPrefix.size() * 8;
    if (unmapped.size() < bytes.size() && block.bits >= kMappedBits) {
        std::ranges::copy(unmapped, block.bytes.begin());
        std::ranges::fill(block.bytes.begin() + kIpv4Length, block.bytes.end(), 0);
        block.length = kIpv4Length;
        block.bits -= kMappedBits;
    }
    clear_after(block);
    return block;
}

std::string text_of(const Block& block) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(block.length == kIpv4Length ? AF_INET : AF_INET6, block.bytes.data(), text.data(),
              text.size());
    std::string written(text.data());
    if (block.bits < block.length * 8) {
        written.append("/").append(std::to_string(block.bits));
    }
    return written;
}

}  // namespace

AddressBytes unmapped_address(AddressBytes address) {
    const bool is_mapped = address.size() == kIpv6Length &&
                           std::ranges::equal(address.first<kMappedPrefix.size()>(), kMappedPrefix);
    return is_mapped ? address.last<kIpv4Length>() : address;
}

std::string parse_address_blocks(std::string_view text) {
    const auto blocks = word_set(text, [](std::string_view word) {
        const auto block = read_block(word);
        if (!block) {
            throw ParseError(
                "invalid block: use addresses such as 192.0.2.1 and blocks such as "
                "192.0.2.0/24 or 2001:db8::/32");
        }
        return text_of(*block);
    });
    if (blocks.size() > kMostAddressBlocks) {
        throw ParseError("there are more than " + std::to_string(kMostAddressBlocks) + " blocks");
    }
    return join_words(blocks);
}

bool contains_address(std::string_view blocks, AddressBytes address) {
    address = unmapped_address(address);
    for (auto word = next_word(blocks); !word.empty(); word = next_word(blocks)) {
        const auto block = read_block(word);
        if (block && block->length == address.size() &&
            common_bits(AddressBytes(block->bytes).first(block->length), address) >= block->bits) {
            return true;
        }
    }
    return false;
}

}  // namespace tollgate
