#pragma once

#include <span>
#include <string>
#include <string_view>

#include "module/plan/limits.hpp"
#include "module/plan/window.hpp"

namespace tollgate {

/// Whether this is the name (in any case) of a field that shows a quota. In responses, only the
/// gateway sets these fields.
bool is_rate_limit_field(std::string_view name);

/// The `RateLimit-Policy` field of the IETF's draft-ietf-httpapi-ratelimit-headers: a name, quota
/// and window for each policy, and its unit (`qu`) unless it is the default. A bucket has its
/// burst, and the time in which it refills. Requests in flight have no window.
std::string rate_limit_policy_field(std::span<const WindowState> windows,
                                    std::span<const FlightState> flights);

/// The `RateLimit` field of the same draft: the units left of each policy, and the seconds until it
/// resets (see WindowState::reset).
std::string rate_limit_field(std::span<const WindowState> windows,
                             std::span<const FlightState> flights, ExactInstant now);

}  // namespace tollgate
