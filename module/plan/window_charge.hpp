#pragma once

#include <cstdint>

namespace tollgate {

/// What a node has charged to a fixed window.
struct WindowCharge {
    std::int64_t number = 0;  ///< see window_number
    std::int64_t units = 0;
    bool operator==(const WindowCharge&) const = default;
};

}  // namespace tollgate
