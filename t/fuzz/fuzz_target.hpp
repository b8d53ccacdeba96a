#pragma once

#include <cstdlib>
#include <string_view>

namespace tollgate::fuzz {

/// What one fuzzer does with an input. Each source in t/fuzz defines it for one parser.
void check(std::string_view input);

/// A property that must hold for every input. If it does not, libFuzzer saves the input.
inline void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

}  // namespace tollgate::fuzz
