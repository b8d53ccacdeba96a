#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The content handler of `tollgate_usage`: the caller's plan and quotas as JSON.
ngx_int_t handle_usage(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
