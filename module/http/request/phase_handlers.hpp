#pragma once

#include <span>

#include "module/http/nginx.hpp"

/// The handlers of the phases of a request.
namespace tollgate::http {

/// Adds a handler to the end of a phase's list. Most phases call the last handler first. Returns
/// all handlers of the phase, none if memory is short.
std::span<ngx_http_handler_pt> add_phase_handler(ngx_conf_t* cf, ngx_http_phases phase,
                                                 ngx_http_handler_pt handler);

/// A handler of NGX_HTTP_PREACCESS_PHASE, before those of nginx's own modules: notes that the
/// request came to a guarded location. `limit_req` or an access module may redirect the request,
/// with its key, to a page in a location that is not guarded.
ngx_int_t note_guarded(ngx_http_request_t* r) noexcept;

/// The handler of NGX_HTTP_ACCESS_PHASE: decides the request once, and waits for Redis if needed.
/// Returns NGX_OK: granted; NGX_DECLINED: not decided here (off, bypassed, dry run); NGX_AGAIN:
/// waiting; a status: refused.
ngx_int_t handle_access(ngx_http_request_t* r) noexcept;

/// Adds the handlers that remove keys from requests that handle_access does not see: requests that
/// `satisfy any` grants before its turn, subrequests, and, for the access log, requests that nginx
/// or `return` answers earlier. Returns false if memory is short.
bool add_field_stripping(ngx_conf_t* cf);

/// A handler of NGX_HTTP_LOG_PHASE: counts the request once, by its last outcome.
ngx_int_t count_request(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
