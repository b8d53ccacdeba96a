#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tollgate {

/// A number of 48 bits, enough for 8900 years in ms, that can be stored at any even address. Values
/// outside the range are clamped.
class Uint48 {
  public:
    static constexpr std::int64_t kMax = (std::int64_t{1} << 48U) - 1;

    Uint48() = default;
    explicit Uint48(std::int64_t value) {
        const auto bits = static_cast<std::uint64_t>(std::clamp<std::int64_t>(value, 0, kMax));
        for (unsigned i = 0; i < parts_.size(); ++i) {
            parts_[i] = static_cast<std::uint16_t>(bits >> 16U * i);
        }
    }

    std::int64_t value() const {
        return static_cast<std::int64_t>(std::uint64_t{parts_[2]} << 32U |
                                         std::uint64_t{parts_[1]} << 16U | parts_[0]);
    }

  private:
    std::array<std::uint16_t, 3> parts_;
};

}  // namespace tollgate
