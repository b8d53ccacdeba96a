#pragma once

#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Finds, when a worker starts, where in the zone it counts for each Redis and each plan.
void find_statistics(MainConf& conf);

/// A handler of NGX_HTTP_LOG_PHASE: counts the request, once, under what became of it last.
ngx_int_t count_request(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
