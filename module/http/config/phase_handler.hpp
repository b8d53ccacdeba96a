#pragma once

#include <span>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Adds a handler to the end of a phase's list. Most phases call the last handler first. Returns
/// all handlers of the phase, or an empty span if memory can't be allocated.
std::span<ngx_http_handler_pt> add_phase_handler(ngx_conf_t* cf, ngx_http_phases phase,
                                                 ngx_http_handler_pt handler);

}  // namespace tollgate::http
