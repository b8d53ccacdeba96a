#include "backend/core/integer.hpp"

#include <cstddef>
#include <string>

namespace petstore {

std::optional<std::int64_t> parse_json_integer(std::string_view number) {
    const std::size_t e = number.find_first_of("eE");
    const std::string_view mantissa = number.substr(0, e);
    const std::size_t point = mantissa.find('.');

    // The number is `digits` times ten to the `power`. Trailing zeros count in `power`.
    std::string digits{mantissa.substr(0, point)};
    std::int64_t power = 0;
    if (point != std::string_view::npos) {
        const std::string_view fraction = mantissa.substr(point + 1);
        digits += fraction;
        power -= static_cast<std::int64_t>(fraction.size());
    }
    if (digits.find_first_not_of("-0") == std::string::npos) {
        return 0;
    }
    const std::size_t length = digits.find_last_not_of('0') + 1;
    power += static_cast<std::int64_t>(digits.size() - length);
    digits.resize(length);

    if (e != std::string_view::npos) {
        std::string_view exponent = number.substr(e + 1);
        if (exponent.starts_with('+')) {
            exponent.remove_prefix(1);
        }
        // With a larger exponent, the number needs more digits than a body can have.
        constexpr std::int64_t kMaxExponent = 1'000'000'000'000;
        const auto value = tollgate::parse_whole_number(exponent, -kMaxExponent, kMaxExponent);
        if (!value) {
            return std::nullopt;
        }
        power += *value;
    }
    constexpr std::int64_t kMaxDigits = 19;
    if (power < 0 || power > kMaxDigits) {
        return std::nullopt;
    }
    digits.append(static_cast<std::size_t>(power), '0');
    return parse_int64(digits);
}

}  // namespace petstore
