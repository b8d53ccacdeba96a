#include "module/plan/unit_sum.hpp"

#include <algorithm>
#include <cstddef>

#include "module/plan/rate.hpp"

namespace tollgate {

namespace {

__extension__ using WideSum = unsigned __int128;

constexpr std::size_t kDecimalDigits = 9;
constexpr unsigned kDecimalBase = 10;

constexpr WideSum power_of_ten(std::size_t exponent) {
    WideSum power = 1;
    for (std::size_t i = 0; i < exponent; ++i) {
        power *= kDecimalBase;
    }
    return power;
}

/// Larger numbers count as this one, in units of 10^-9. A product with the largest price that has a
/// meaning is then above kMostRequests.
constexpr WideSum kMostFactor = power_of_ten(18 + kDecimalDigits);
constexpr WideSum kOne = power_of_ten(2 * kDecimalDigits);

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

/// A decimal number in units of 10^-9.
WideSum parse_decimal(std::string_view text) {
    const auto point = std::min(text.find('.'), text.size());
    const auto whole = text.substr(0, point);
    const auto fraction = text.substr(std::min(point + 1, text.size()));
    WideSum number = 0;
    const auto append = [&](char digit) {
        number = std::min(number * kDecimalBase + static_cast<unsigned>(digit - '0'), kMostFactor);
    };
    std::ranges::for_each(whole, append);
    for (std::size_t i = 0; i < kDecimalDigits; ++i) {
        append(i < fraction.size() ? fraction[i] : '0');
    }
    const bool has_more = fraction.find_first_not_of('0', kDecimalDigits) != std::string_view::npos;
    return number + (has_more ? 1 : 0);
}

}  // namespace

bool is_decimal(std::string_view text) {
    const auto point = text.find('.');
    return is_digits(text.substr(0, point)) &&
           (point == std::string_view::npos || is_digits(text.substr(point + 1)));
}

void UnitSum::add(std::string_view one, std::string_view other) {
    if (!is_decimal(one) || !is_decimal(other)) {
        is_valid_ = false;
        return;
    }
    WideSum product = 0;
    is_too_large_ = is_too_large_ ||
                    __builtin_mul_overflow(parse_decimal(one), parse_decimal(other), &product) ||
                    __builtin_add_overflow(sum_, product, &sum_);
}

std::optional<std::int64_t> UnitSum::value() const {
    if (!is_valid_) {
        return std::nullopt;
    }
    const WideSum units = sum_ / kOne + (sum_ % kOne != 0 ? 1 : 0);
    return is_too_large_ || units > static_cast<WideSum>(kMostRequests)
               ? kMostRequests
               : static_cast<std::int64_t>(units);
}

}  // namespace tollgate
