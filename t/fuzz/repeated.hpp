#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tollgate::fuzz {

/// The stream that an input of a few bytes stands for. `~` and a byte repeat the previous bytes of
/// the stream, at most 256, as many times as the byte says. A stream is thus longer than the limits
/// of its reader although libFuzzer's inputs are short.
inline std::string repeated(std::string_view input) {
    constexpr std::size_t kPart = 256;
    constexpr std::size_t kMost = std::size_t{96} << 10U;
    std::string stream;
    for (std::size_t i = 0; i < input.size() && stream.size() < kMost; ++i) {
        if (input[i] != '~' || i + 1 == input.size()) {
            stream += input[i];
            continue;
        }
        const std::string part = stream.substr(stream.size() - std::min(kPart, stream.size()));
        for (auto times = static_cast<unsigned char>(input[++i]);
             times > 0 && stream.size() < kMost; --times) {
            stream += part;
        }
    }
    return stream;
}

}  // namespace tollgate::fuzz
