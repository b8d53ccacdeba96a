#include "module/plan/value_digest.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "module/key/digest.hpp"

namespace tollgate {

ValueDigest ValueDigest::of(std::string_view value) {
    const Sha256 bytes = sha256(value);
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(number); ++i) {
        number = number << 8U | bytes[i];
    }
    return ValueDigest(std::max(number, kGroup + 1));
}

ValueDigest ValueDigest::of_group() {
    return ValueDigest(kGroup);
}

ValueDigest ValueDigest::read(std::string_view suffix) {
    if (suffix == kGroupSuffix) {
        return of_group();
    }
    constexpr int kHexadecimal = 16;
    std::uint64_t number = 0;
    const char* const end = suffix.data() + suffix.size();
    const bool has_size =
        suffix.size() == std::tuple_size_v<decltype(text_)> && suffix.front() == ':';
    const bool is_read =
        has_size && std::from_chars(suffix.data() + 1, end, number, kHexadecimal) ==
                        std::from_chars_result{end, std::errc{}};
    return is_read ? ValueDigest(number) : ValueDigest();
}

ValueDigest::ValueDigest(std::uint64_t number) : number_(number) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text_.front() = ':';
    for (auto digit = text_.rbegin(); digit != text_.rend() - 1; ++digit) {
        *digit = kDigits[number & 0xfU];
        number >>= 4U;
    }
}

}  // namespace tollgate
