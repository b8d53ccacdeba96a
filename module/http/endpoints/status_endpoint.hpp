#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The content handler of `tollgate_status`: the node's statistics, as JSON or for Prometheus.
ngx_int_t handle_status(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
