#include "module/key/api_key.hpp"

#include <zlib.h>

#include <algorithm>

namespace tollgate {

namespace {

constexpr std::size_t kRandomLength = 32;
constexpr std::size_t kChecksumLength = 6;  // 62^6 > 2^32

std::string checksum_of(std::string_view text) {
    auto rest = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
    std::string digits;
    while (digits.size() < kChecksumLength) {
        digits += kBase62[rest % kBase62.size()];
        rest /= kBase62.size();
    }
    return {digits.rbegin(), digits.rend()};
}

}  // namespace

std::string base62(std::span<const unsigned char, kKeyEntropy> bytes, std::size_t length) {
    std::array<unsigned char, kKeyEntropy> number{};
    std::ranges::copy(bytes, number.begin());
    std::string digits;
    for (std::size_t i = 0; i < length; ++i) {
        unsigned int remainder = 0;
        for (auto& byte : number) {
            const unsigned int dividend = remainder * 256 + byte;
            byte = static_cast<unsigned char>(dividend / kBase62.size());
            remainder = dividend % kBase62.size();
        }
        digits += kBase62[remainder];
    }
    return digits;
}

bool is_valid_key_prefix(std::string_view prefix) {
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
    return !prefix.empty() && prefix.size() <= kLongestKeyPrefix && is_letter(prefix.front()) &&
           prefix.back() != '_' && std::ranges::all_of(prefix, is_part) &&
           !has_checked_prefix(prefix);
}

std::string make_api_key(std::span<const unsigned char, kKeyEntropy> random,
                         std::string_view prefix) {
    // The low digits are uniform to 2^-64.
    const std::string key = std::string(prefix) + "_" + base62(random, kRandomLength);
    return key + checksum_of(key);
}

bool has_checked_prefix(std::string_view token) {
    return token.starts_with(kKeyPrefix) && token.substr(kKeyPrefix.size()).starts_with('_');
}

std::string key_hint(std::string_view key) {
    constexpr std::size_t kShortest = 20;
    return std::string(key.size() < kShortest ? std::string_view()
                                              : key.substr(key.size() - kHintLength));
}

bool has_valid_checksum(std::string_view token) {
    if (!has_checked_prefix(token)) {
        return true;
    }
    if (token.size() != kKeyPrefix.size() + 1 + kRandomLength + kChecksumLength) {
        return false;
    }
    const auto body = token.substr(0, token.size() - kChecksumLength);
    return body.find_first_not_of(kBase62, kKeyPrefix.size() + 1) == std::string_view::npos &&
           token.substr(body.size()) == checksum_of(body);
}

}  // namespace tollgate
