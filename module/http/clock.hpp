#pragma once

#include "module/http/nginx.hpp"
#include "module/quota/redis_clock.hpp"

namespace tollgate::http {

/// The node's wall clock, as of this turn of the event loop.
inline Instant node_time() {
    const ngx_time_t* now = ngx_timeofday();
    return Instant(std::chrono::seconds(now->sec) + std::chrono::milliseconds(now->msec));
}

/// The node's steady clock: the same in all its processes, and as of now, where nginx's own
/// (ngx_current_msec) is as old as this turn.
inline ExactSteadyTime exact_steady_time() {
    return std::chrono::floor<ExactSteadyTime>(std::chrono::steady_clock::now().time_since_epoch());
}

/// The same in whole ms, rounded down.
inline SteadyTime steady_time() {
    return std::chrono::floor<SteadyTime>(exact_steady_time());
}

}  // namespace tollgate::http
