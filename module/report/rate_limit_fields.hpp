#pragma once

#include <span>
#include <string>
#include <string_view>

#include "module/plan/limits.hpp"
#include "module/plan/window.hpp"

namespace tollgate {

/// Whether this is the name (in any case) of a field that shows a quota: `RateLimit`,
/// `RateLimit-Policy`, `X-RateLimit-Limit`, -Remaining, -Reset, and those three with `-` and a
/// unit. In responses, only the gateway sets these fields.
bool is_rate_limit_field(std::string_view name);

/// The `RateLimit-Policy` field of draft-ietf-httpapi-ratelimit-headers-11: a name, quota and
/// window for each policy, and its unit (`qu`) unless it is requests. Windows of a unit that the
/// draft does not register are left out: a policy without `qu` would promise requests. A bucket has
/// its burst, and the time in which it refills. Requests in flight have no window. May be empty.
std::string rate_limit_policy_field(std::span<const WindowState> windows,
                                    std::span<const FlightState> flights);

/// The `RateLimit` field of the same draft, for the same policies: the units left of each, and the
/// seconds until it resets (see WindowState::reset).
std::string rate_limit_field(std::span<const WindowState> windows,
                             std::span<const FlightState> flights, ExactInstant now);

}  // namespace tollgate
