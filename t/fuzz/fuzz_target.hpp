#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace tollgate::fuzz {

/// What one fuzzer does with an input. Each source in t/fuzz defines it for one parser.
void check(std::string_view input);

/// A property that must hold for every input. If it does not, its place is printed, and libFuzzer
/// saves the input.
inline void require(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (!holds) {
        std::cerr << file << ":" << line << ": a property does not hold\n";
        std::abort();
    }
}

}  // namespace tollgate::fuzz
