#include "module/core/window.hpp"

#include <algorithm>
#include <tuple>

namespace tollgate {

using namespace std::chrono_literals;

const WindowState* binding_window(std::span<const WindowState> windows) {
    const auto binds_less = [](const WindowState& a, const WindowState& b) {
        const auto left = [](const WindowState& w) { return w.exhausted ? 0 : -w.remaining; };
        return std::tuple(a.exhausted, left(a), a.reset) <
               std::tuple(b.exhausted, left(b), b.reset);
    };
    const auto binding = std::ranges::max_element(windows, binds_less);
    return binding == windows.end() ? nullptr : &*binding;
}

std::int64_t retry_after(Instant now, Instant until) {
    return std::max(std::chrono::ceil<std::chrono::seconds>(until - now), std::chrono::seconds(1s))
        .count();
}

std::int64_t unix_seconds(Instant instant) {
    return std::chrono::ceil<std::chrono::seconds>(instant).time_since_epoch().count();
}

}  // namespace tollgate
