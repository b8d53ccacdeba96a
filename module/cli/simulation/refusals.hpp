#pragma once

#include <cstdint>
#include <vector>

#include "module/quota/window.hpp"

namespace tollgate::cli {

/// The refusals of one id.
struct Refusals {
    /// Those by one window.
    struct OfWindow {
        std::uint32_t window = 0;  ///< see Simulation
        std::int64_t refused = 0;
        std::int64_t number = 0;  ///< of the fixed window of the last refusal
        std::int64_t count = 0;   ///< refusals in it
        std::int64_t worst_number = 0;
        std::int64_t worst_count = 0;
    };

    std::int64_t refused = 0;
    std::int64_t forbidden = 0;
    std::int64_t refused_in_log = 0;
    Instant first = Instant::max();
    Instant last = Instant::min();
    std::vector<OfWindow> windows;

    /// Counts a refusal with 403.
    void forbid(Instant at);
    /// Counts a refusal by a window; `number` is the window_number of the request.
    void refuse(std::uint32_t window, std::int64_t number, Instant at);
};

}  // namespace tollgate::cli
