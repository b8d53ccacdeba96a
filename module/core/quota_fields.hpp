#pragma once

#include <span>
#include <string>

#include "module/core/window.hpp"

namespace tollgate {

/// `RateLimit-Policy` of the IETF's draft-ietf-httpapi-ratelimit-headers: a name, quota and window
/// for each policy.
std::string rate_limit_policy_field(std::span<const WindowState> windows);

/// `RateLimit` of the same draft: what is left of each policy, and the seconds until it resets.
std::string rate_limit_field(std::span<const WindowState> windows, Instant now);

}  // namespace tollgate
