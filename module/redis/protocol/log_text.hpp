#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tollgate::redis {

/// Text for the log. Bytes that are not printable ASCII become \xHH. Text longer than kMost is
/// truncated and ends with "...". Stores its own bytes and allocates no memory, so it can be used
/// where nothing may throw.
class LogText {
  public:
    static constexpr std::size_t kMost = 512;

    LogText() = default;
    explicit LogText(std::string_view text) noexcept { append(text); }

    void append(std::string_view text) noexcept;

    bool empty() const noexcept { return size_ == 0; }
    operator std::string_view() const noexcept { return {bytes_.data(), size_}; }

  private:
    static constexpr std::string_view kCut = "...";

    std::array<char, kMost + kCut.size()> bytes_{};
    std::size_t size_ = 0;
    bool is_cut_ = false;
};

}  // namespace tollgate::redis
