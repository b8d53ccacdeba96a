#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "module/core/window.hpp"

namespace tollgate {

/// A window under the name of its policy: `free-minute`.
struct NamedWindow {
    std::string policy;
    WindowState state;
};

/// `RateLimit-Policy` of the IETF's draft-ietf-httpapi-ratelimit-headers: a name, quota and window
/// for each policy.
std::string rate_limit_policy_field(std::span<const NamedWindow> windows);

/// `RateLimit` of the same draft: what is left of each policy, and the seconds until it resets.
std::string rate_limit_field(std::span<const NamedWindow> windows, Instant now);

}  // namespace tollgate
