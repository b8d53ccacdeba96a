#include "module/report/rate_limit_fields.hpp"

#include <algorithm>
#include <array>

#include "module/text/ascii.hpp"

namespace tollgate {

namespace {

constexpr std::array<std::string_view, 5> kQuotaFields{
    "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
    "RateLimit",         "RateLimit-Policy",
};

/// Joins the result of `write` for each window into one list (RFC 9651 section 3.1).
template <typename Write>
std::string join(std::span<const WindowState> windows, Write write) {
    std::string field;
    for (const WindowState& window : windows) {
        field.append(field.empty() ? "\"" : ", \"").append(window.policy).append("\"");
        field += write(window);
    }
    return field;
}

}  // namespace

bool is_rate_limit_field(std::string_view name) {
    // Called for each field of each request: nearly all names differ in the first letter.
    const char first = name.empty() ? ' ' : to_lower(name.front());
    return (first == 'x' || first == 'r') &&
           std::ranges::any_of(kQuotaFields, [&](std::string_view field) {
               return equals_ignoring_case(field, name);
           });
}

std::string rate_limit_policy_field(std::span<const WindowState> windows) {
    return join(windows, [](const WindowState& state) {
        return ";q=" + std::to_string(state.rate.requests) +
               ";w=" + std::to_string(window_length(state.reset, state.rate.period).count());
    });
}

std::string rate_limit_field(std::span<const WindowState> windows, ExactInstant now) {
    return join(windows, [now](const WindowState& state) {
        const auto rest =
            std::chrono::ceil<std::chrono::seconds>(std::max<ExactInstant>(state.reset, now) - now);
        return ";r=" + std::to_string(state.remaining) + ";t=" + std::to_string(rest.count());
    });
}

}  // namespace tollgate
