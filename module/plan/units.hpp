#pragma once

#include <algorithm>
#include <cstdint>

namespace tollgate {

/// An amount of units that a node holds of a quota: a lease, or what it owes to Redis, which is
/// below 0 if Redis has to take units back. Also a debt of a bucket. Sums and differences are whole
/// numbers of 64 bits; when they are assigned, they saturate at kMost. So no sum of a few amounts
/// overflows, and each is a number that Lua, whose numbers are doubles, has exactly.
class Units {
  public:
    /// The largest amount, and the largest count of a window. The acquire script counts up to it,
    /// and a reply has no more.
    static constexpr std::int64_t kMost = 9'000'000'000'000'000;

    // Amounts are computed as numbers.
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr Units(std::int64_t amount = 0) : amount_(std::clamp(amount, -kMost, kMost)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr operator std::int64_t() const { return amount_; }

    constexpr Units& operator+=(std::int64_t more) { return *this = amount_ + more; }
    constexpr Units& operator-=(std::int64_t less) { return *this = amount_ - less; }
    constexpr Units& operator++() { return *this += 1; }

  private:
    std::int64_t amount_;
};

}  // namespace tollgate
