#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The handler of NGX_HTTP_ACCESS_PHASE: decides the request once, and waits for Redis if needed.
/// Returns NGX_OK: granted; NGX_DECLINED: not decided here (off, bypassed, dry run); NGX_AGAIN:
/// waiting; a status: refused.
ngx_int_t handle_access(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
