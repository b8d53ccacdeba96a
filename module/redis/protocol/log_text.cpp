#include "module/redis/protocol/log_text.hpp"

#include <algorithm>

namespace tollgate::redis {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kEscape = 4;  ///< of \xHH

bool is_printable(char byte) {
    return byte >= ' ' && byte <= '~';
}

}  // namespace

void LogText::append(std::string_view text) noexcept {
    for (const char byte : text) {
        if (is_cut_) {
            return;
        }
        const bool is_plain = is_printable(byte);
        if (size_ + (is_plain ? 1 : kEscape) > kMost) {
            std::ranges::copy(kCut, bytes_.data() + size_);
            size_ += kCut.size();
            is_cut_ = true;
        } else if (is_plain) {
            bytes_[size_++] = byte;
        } else {
            const auto number = static_cast<unsigned char>(byte);
            for (const char c : {'\\', 'x', kDigits[number >> 4U], kDigits[number & 0xfU]}) {
                bytes_[size_++] = c;
            }
        }
    }
}

}  // namespace tollgate::redis
