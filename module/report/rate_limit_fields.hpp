#pragma once

#include <span>
#include <string>
#include <string_view>

#include "module/quota/window.hpp"

namespace tollgate {

/// Whether a field of this name, in any case, tells of quotas: of a response, only the gateway sets
/// it.
bool is_quota_field(std::string_view name);

/// `RateLimit-Policy` of the IETF's draft-ietf-httpapi-ratelimit-headers: a name, quota and window
/// for each policy.
std::string rate_limit_policy_field(std::span<const WindowState> windows);

/// `RateLimit` of the same draft: what is left of each policy, and the seconds until it resets.
std::string rate_limit_field(std::span<const WindowState> windows, ExactInstant now);

}  // namespace tollgate
