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

/// A signed number of 24 bits that can be stored at any address. Values outside the range are
/// clamped.
class Int24 {
  public:
    static constexpr std::int64_t kMax = (std::int64_t{1} << 23U) - 1;
    static constexpr std::int64_t kMin = -kMax - 1;

    Int24() = default;
    explicit Int24(std::int64_t value) {
        const auto bits = static_cast<std::uint32_t>(std::clamp(value, kMin, kMax));
        for (unsigned i = 0; i < bytes_.size(); ++i) {
            bytes_[i] = static_cast<std::uint8_t>(bits >> 8U * i);
        }
    }

    std::int32_t value() const {
        const std::uint32_t bits =
            std::uint32_t{bytes_[2]} << 16U | std::uint32_t{bytes_[1]} << 8U | bytes_[0];
        return static_cast<std::int32_t>(bits ^ 0x800000U) - 0x800000;  // extends the sign
    }

  private:
    std::array<std::uint8_t, 3> bytes_;
};

}  // namespace tollgate
