#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tollgate {

/// Whether the text is a decimal number as UnitSum reads it: digits, and optionally a point and
/// further digits.
bool is_decimal(std::string_view text);

/// A sum of products of decimal numbers, in whole units: what `tollgate_sum` computes. The products
/// and their sum are exact, of numbers with at most 9 digits after the point, and the sum is
/// rounded up. Of a number with more digits, the ninth one is rounded up.
class UnitSum {
  public:
    /// Adds the product of two numbers. The sum has no value any more if one of them is no decimal
    /// number.
    void add(std::string_view one, std::string_view other = "1");

    /// From 0 to kMostRequests: a larger sum counts as this.
    std::optional<std::int64_t> value() const;

  private:
    __extension__ using WideSum = unsigned __int128;

    WideSum sum_ = 0;  ///< in units of 10^-18
    bool is_valid_ = true;
    bool is_too_large_ = false;
};

}  // namespace tollgate
