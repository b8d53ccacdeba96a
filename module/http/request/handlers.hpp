#pragma once

#include "module/http/nginx.hpp"

/// What nginx calls for a request: the handlers of its phases and the variables.
namespace tollgate::http {

/// A handler of NGX_HTTP_PREACCESS_PHASE, before those of nginx's own modules: notes that the
/// request came to a guarded location. `limit_req` or an access module may redirect the request,
/// with its key, to a page in a location that is not guarded.
ngx_int_t note_guarded(ngx_http_request_t* r) noexcept;

/// The handler of NGX_HTTP_ACCESS_PHASE: decides the request once, and waits for Redis if needed.
/// Returns NGX_OK: granted; NGX_DECLINED: not decided here (off, bypassed, dry run); NGX_AGAIN:
/// waiting; a status: refused.
ngx_int_t handle_access(ngx_http_request_t* r) noexcept;

/// Adds the handler that decides requests with a subject that `satisfy any` has granted before the
/// turn of handle_access. Returns false if memory is short. Call it after add_field_stripping: it
/// runs before the keys are removed, because a variable may be computed from them.
bool add_subject_counting(ngx_conf_t* cf);

/// Adds a handler to NGX_HTTP_LOG_PHASE, before all that are there. Returns false if memory is
/// short.
bool add_first_log_handler(ngx_conf_t* cf, ngx_http_handler_pt handler);

/// Adds the handlers that remove keys from requests that handle_access does not see: requests that
/// `satisfy any` grants before its turn, subrequests, and, for the access log, requests that nginx
/// or `return` answers earlier. Returns false if memory is short.
bool add_field_stripping(ngx_conf_t* cf);

/// The variable of a field that was removed from a request has a substitute: whatever is keyed by
/// it, a cache for example, still tells clients apart. Call it when the whole configuration is
/// read. Returns false after logging a message.
bool substitute_removed_fields(ngx_conf_t* cf);

/// A handler of NGX_HTTP_LOG_PHASE, before the one that writes access logs: settles the cost of the
/// request, and counts it once, by its last outcome. Call add_first_log_handler before
/// add_field_stripping: `settle=` cannot read keys.
ngx_int_t settle_and_count(ngx_http_request_t* r) noexcept;

/// Adds the `$tollgate_…` variables; a preconfiguration. They take no place in nginx's hash of
/// variables, which is nearly full with all modules of Debian. What reads a variable by its name at
/// run time (SSI, Perl) finds them by their prefix.
ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

/// nginx takes every name with the prefix for a variable. Logs an error and returns false if the
/// configuration uses one that nobody defines. Call it when the whole configuration is read.
bool check_variables(ngx_conf_t* cf);

}  // namespace tollgate::http
