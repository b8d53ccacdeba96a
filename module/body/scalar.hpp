#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tollgate::body {

/// A string, a number or a truth value of a JSON text (RFC 8259), as a variable shows it. It keeps
/// a bounded copy.
class Scalar {
  public:
    /// The longest text, in bytes. A longer string has no value here: a part of it could be taken
    /// for another one.
    static constexpr std::size_t kLongest = 127;
    /// Numbers from 10^kMostDigits on are shown as 10^kMostDigits, so that a number is never taken
    /// for a smaller one that matters. Of a fraction, so many digits are shown.
    static constexpr int kMostDigits = 40;

    /// Has no value.
    Scalar() = default;
    /// A decoded string. It has no value if it is empty, longer than kLongest, or has a control
    /// character: a variable may become a field of a header.
    static Scalar of_string(std::string_view text);
    /// A number as the text has it, without an exponent and without a fraction of zeros: `1.50e2`
    /// is 150.
    static Scalar of_number(std::string_view number);
    /// `true` or `false`.
    static Scalar of_truth(bool value);

    /// Empty: no value.
    std::string_view text() const { return {bytes_.data(), size_}; }

  private:
    void append(std::string_view text);
    void append(std::size_t count, char c);

    std::uint8_t size_ = 0;
    std::array<char, kLongest> bytes_{};
};

}  // namespace tollgate::body
