#include "module/body/scalar.hpp"

#include <algorithm>
#include <charconv>

#include "module/body/token_cutter.hpp"

namespace tollgate::body {

namespace {

bool is_control(char c) {
    constexpr unsigned char kFirstPrintable = 0x20;
    constexpr unsigned char kDelete = 0x7f;
    const auto byte = static_cast<unsigned char>(c);
    return byte < kFirstPrintable || byte == kDelete;
}

/// The exponent of a number, as far as it matters: numbers have at most 256 characters.
int exponent_of(std::string_view text) {
    constexpr int kMost = 10'000;
    const bool is_negative = text.starts_with('-');
    text.remove_prefix(is_negative || text.starts_with('+') ? 1 : 0);
    int exponent = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    exponent = error == std::errc{} ? std::min(exponent, kMost) : kMost;
    return is_negative ? -exponent : exponent;
}

std::string_view without_trailing_zeros(std::string_view digits) {
    return digits.substr(0, digits.find_last_not_of('0') + 1);
}

}  // namespace

Scalar Scalar::of_string(std::string_view text) {
    Scalar scalar;
    if (text.size() <= kLongest && std::none_of(text.begin(), text.end(), is_control)) {
        scalar.append(text);
    }
    return scalar;
}

Scalar Scalar::of_truth(bool value) {
    return of_string(value ? "true" : "false");
}

Scalar Scalar::of_number(std::string_view number) {
    const bool is_negative = number.starts_with('-');
    number.remove_prefix(is_negative ? 1 : 0);
    const auto e = number.find_first_of("eE");
    const int exponent = e == std::string_view::npos ? 0 : exponent_of(number.substr(e + 1));
    const auto mantissa = number.substr(0, e);
    const auto point = std::min(mantissa.find('.'), mantissa.size());
    // The value is 0.DIGITS * 10^whole.
    std::array<char, TokenCutter::kLongestNumber> buffer{};
    std::size_t size = 0;
    int whole = static_cast<int>(point) + exponent;
    for (const char c : mantissa) {
        if (c == '0' && size == 0) {
            --whole;
        } else if (c != '.' && size < buffer.size()) {
            buffer[size++] = c;
        }
    }
    const auto digits = without_trailing_zeros({buffer.data(), size});
    if (digits.empty() || whole <= -kMostDigits) {
        return of_string("0");
    }
    Scalar scalar;
    scalar.append(is_negative ? "-" : "");
    if (whole > kMostDigits) {
        scalar.append("1");
        scalar.append(kMostDigits, '0');
        return scalar;
    }
    const auto before = static_cast<std::size_t>(std::max(whole, 0));
    const auto zeros = static_cast<std::size_t>(std::max(-whole, 0));
    scalar.append(before == 0 ? "0" : digits.substr(0, before));
    scalar.append(before - std::min(before, digits.size()), '0');
    const auto fraction = without_trailing_zeros(
        digits.substr(std::min(before, digits.size())).substr(0, kMostDigits - zeros));
    if (!fraction.empty()) {
        scalar.append(".");
        scalar.append(zeros, '0');
        scalar.append(fraction);
    }
    return scalar;
}

void Scalar::append(std::string_view text) {
    std::copy(text.begin(), text.end(), bytes_.begin() + size_);
    size_ = static_cast<std::uint8_t>(size_ + text.size());
}

void Scalar::append(std::size_t count, char c) {
    std::fill_n(bytes_.begin() + size_, count, c);
    size_ = static_cast<std::uint8_t>(size_ + count);
}

}  // namespace tollgate::body
