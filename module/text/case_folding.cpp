#include "module/text/case_folding.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "module/text/ascii.hpp"
#include "module/text/utf8.hpp"

namespace tollgate {

namespace {

/// Capital letters. Each one's lower-case letter follows it by the same distance. A distance of 1:
/// capital and lower-case letters alternate, and the range begins with a capital letter.
struct Capitals {
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t distance;
};
constexpr std::array kCapitals{
    Capitals{0xc0, 0xd6, 32},   Capitals{0xd8, 0xde, 32},   Capitals{0x100, 0x12f, 1},
    Capitals{0x132, 0x137, 1},  Capitals{0x139, 0x148, 1},  Capitals{0x14a, 0x177, 1},
    Capitals{0x179, 0x17e, 1},  Capitals{0x1cd, 0x1dc, 1},  Capitals{0x1de, 0x1ef, 1},
    Capitals{0x1f8, 0x21f, 1},  Capitals{0x222, 0x233, 1},  Capitals{0x386, 0x386, 38},
    Capitals{0x388, 0x38a, 37}, Capitals{0x38c, 0x38c, 64}, Capitals{0x38e, 0x38f, 63},
    Capitals{0x391, 0x3a1, 32}, Capitals{0x3a3, 0x3ab, 32}, Capitals{0x400, 0x40f, 80},
    Capitals{0x410, 0x42f, 32}, Capitals{0x460, 0x481, 1},  Capitals{0x48a, 0x4bf, 1},
    Capitals{0x4c1, 0x4ce, 1},  Capitals{0x4d0, 0x52f, 1},
};

std::uint32_t lower_case(std::uint32_t character) {
    const auto* const range = std::ranges::find_if(kCapitals, [&](const Capitals& capitals) {
        return character >= capitals.first && character <= capitals.last;
    });
    if (range == kCapitals.end()) {
        return character;
    }
    const bool is_lower = range->distance == 1 && (character - range->first) % 2 == 1;
    return is_lower ? character : character + range->distance;
}

}  // namespace

std::string fold_case(std::string_view text) {
    constexpr std::size_t kBitsOfContinuation = 6;
    std::string folded;
    folded.reserve(text.size());
    while (!text.empty()) {
        const auto length = std::max<std::size_t>(utf8_length(text), 1);
        if (length == 2) {
            // All of these letters have two bytes.
            const auto first = static_cast<unsigned char>(text[0]) & 0x1fU;
            const auto second = static_cast<unsigned char>(text[1]) & 0x3fU;
            const auto lower = lower_case(first << kBitsOfContinuation | second);
            folded += static_cast<char>(0xc0U | lower >> kBitsOfContinuation);
            folded += static_cast<char>(0x80U | (lower & 0x3fU));
        } else if (length == 1) {
            folded += to_lower(text.front());
        } else {
            folded += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return folded;
}

}  // namespace tollgate
