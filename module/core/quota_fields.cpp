#include "module/core/quota_fields.hpp"

#include <algorithm>

namespace tollgate {

namespace {

/// Joins what `write` says of each window into one list (RFC 9651 section 3.1).
template <typename Write>
std::string join(std::span<const WindowState> windows, Write write) {
    std::string field;
    for (const WindowState& window : windows) {
        field += (field.empty() ? "\"" : ", \"") + window.policy + "\"" + write(window);
    }
    return field;
}

}  // namespace

std::string rate_limit_policy_field(std::span<const WindowState> windows) {
    return join(windows, [](const WindowState& state) {
        return ";q=" + std::to_string(state.rate.requests) +
               ";w=" + std::to_string(state.rate.period.count());
    });
}

std::string rate_limit_field(std::span<const WindowState> windows, Instant now) {
    return join(windows, [now](const WindowState& state) {
        const auto rest = std::chrono::ceil<std::chrono::seconds>(std::max(state.reset, now) - now);
        return ";r=" + std::to_string(state.remaining) + ";t=" + std::to_string(rest.count());
    });
}

}  // namespace tollgate
