#include "module/report/rate_limit_fields.hpp"

#include <algorithm>
#include <array>

#include "module/plan/bucket.hpp"
#include "module/plan/plan.hpp"
#include "module/text/ascii.hpp"

namespace tollgate {

namespace {

constexpr std::array<std::string_view, 3> kQuotaFields{
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
};
constexpr std::array<std::string_view, 2> kDraftFields{"RateLimit", "RateLimit-Policy"};

/// A unit of sizes that the draft registers.
constexpr std::string_view kContentBytes = "content-bytes";

bool is_registered(const WindowState& window) {
    return window.unit == kRequests || window.unit == kContentBytes;
}
bool is_registered(const FlightState& /*flight*/) {
    return true;
}

/// Adds the result of `write` for each policy to one list (RFC 9651 section 3.1). Leaves out a
/// policy without a result.
template <typename Policies, typename Write>
void add_policies(std::string& field, const Policies& policies, Write write) {
    for (const auto& policy : policies) {
        if (!is_registered(policy)) {
            continue;
        }
        const std::string parameters = write(policy);
        if (parameters.empty()) {
            continue;
        }
        field.append(field.empty() ? "\"" : ", \"").append(policy.policy).append("\"");
        field += parameters;
    }
}

}  // namespace

bool is_rate_limit_field(std::string_view name) {
    // Called for each field of each request: nearly all names differ in the first letter.
    const char first = name.empty() ? ' ' : to_lower(name.front());
    return (first == 'x' || first == 'r') &&
           (std::ranges::any_of(
                kDraftFields,
                [&](std::string_view field) { return equals_ignoring_case(field, name); }) ||
            std::ranges::any_of(kQuotaFields, [&](std::string_view field) {
                return equals_ignoring_case(field, name.substr(0, field.size())) &&
                       (name.size() == field.size() || name[field.size()] == '-');
            }));
}

std::string rate_limit_policy_field(std::span<const WindowState> windows,
                                    std::span<const FlightState> flights) {
    std::string field;
    add_policies(field, windows, [](const WindowState& state) {
        if (state.rate.is_balance()) {
            return std::string();
        }
        std::string text = ";q=" + std::to_string(state.rate.limit());
        if (state.unit != kRequests) {
            text.append(";qu=\"").append(state.unit).append("\"");
        }
        return text + ";w=" + std::to_string(length_of(state).count());
    });
    add_policies(field, flights, [](const FlightState& state) {
        return ";q=" + std::to_string(state.limit) + ";qu=\"concurrent-requests\"";
    });
    return field;
}

std::string rate_limit_field(std::span<const WindowState> windows,
                             std::span<const FlightState> flights, ExactInstant now) {
    std::string field;
    add_policies(field, windows, [now](const WindowState& state) {
        if (state.rate.is_balance()) {
            return ";r=" + std::to_string(state.remaining);
        }
        const auto rest =
            std::chrono::ceil<std::chrono::seconds>(std::max<ExactInstant>(state.reset, now) - now);
        return ";r=" + std::to_string(state.remaining) + ";t=" + std::to_string(rest.count());
    });
    add_policies(field, flights, [](const FlightState& state) {
        return ";r=" + std::to_string(state.remaining());
    });
    return field;
}

}  // namespace tollgate
