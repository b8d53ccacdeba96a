// A token's checksum. The input is a token, or the random bytes of a key, the position of a
// character and another character.

#include "module/key/api_key.hpp"

#include <span>

#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

constexpr std::string_view kPrefix = "tg_";

void check_mistyped(std::string_view input) {
    std::string bytes(input);
    std::string key = make_api_key(std::span<const unsigned char, kKeyEntropy>(
        reinterpret_cast<unsigned char*>(bytes.data()), kKeyEntropy));
    require(has_valid_checksum(key));
    const std::size_t rest = key.size() - kPrefix.size();
    char& typed = key[kPrefix.size() + static_cast<unsigned char>(input[kKeyEntropy]) % rest];
    const char other = input[kKeyEntropy + 1];
    if (typed != other) {
        typed = other;
        require(!has_valid_checksum(key));
    }
    key.pop_back();
    require(!has_valid_checksum(key));
}

}  // namespace

void check(std::string_view input) {
    if (!input.starts_with(kPrefix)) {
        require(has_valid_checksum(input));
    } else {
        has_valid_checksum(input);
    }
    if (input.size() == kKeyEntropy + 2) {
        check_mistyped(input);
    }
}

}  // namespace tollgate::fuzz
