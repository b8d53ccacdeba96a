#pragma once

#include <iostream>
#include <string_view>

#include "module/cli/failure.hpp"

namespace tollgate::cli {

/// Writes to standard output; false when that fails.
inline bool print(std::string_view text) {
    return static_cast<bool>(std::cout << text << std::flush);
}

/// Writes to standard output. Throws Failure when that fails.
inline void require_print(std::string_view text) {
    if (!print(text)) {
        throw Failure(ExitStatus::kRedis, "standard output can't be written");
    }
}

}  // namespace tollgate::cli
