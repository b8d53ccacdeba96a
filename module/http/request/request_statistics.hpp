#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// A handler of NGX_HTTP_LOG_PHASE: counts the request once, by its last outcome.
ngx_int_t count_request(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
