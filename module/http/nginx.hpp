#pragma once

#include "module/nginx/nginx.hpp"
#include "module/nginx/response.hpp"

extern ngx_module_t ngx_http_tollgate_module;
extern ngx_module_t ngx_http_tollgate_filter_module;

namespace tollgate::http {

using nginx::add_field;
using nginx::add_literal_field;
using nginx::add_phase_handler;
using nginx::allow_reading_only;
using nginx::borrow;
using nginx::conf_error;
using nginx::conf_ok;
using nginx::copy;
using nginx::core_location;
using nginx::find_pooled;
using nginx::for_each_field;
using nginx::is_regex;
using nginx::make_pooled;
using nginx::send_body;
using nginx::send_text;
using nginx::view;

/// nginx::guarded(), with `tollgate: ` at the beginning of the line in the log.
template <typename Result, typename Call>
Result guarded(ngx_log_t* log, Result failure, Call&& call) noexcept {
    return nginx::guarded("tollgate", log, failure, std::forward<Call>(call));
}

/// Calls a step of a request that returns an HTTP status or a code of nginx. An exception is logged
/// with `tollgate: ` at the beginning of the line, and becomes status 500.
template <typename Call>
ngx_int_t guarded(const ngx_http_request_t* r, Call&& call) noexcept {
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR),
                   std::forward<Call>(call));
}

}  // namespace tollgate::http
