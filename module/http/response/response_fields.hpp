#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Adds Tollgate's fields to a response: the quota's fields, which replace those of the upstream,
/// `Retry-After` and `WWW-Authenticate`. Does nothing outside tollgate locations. If memory is
/// short, the field is left out and the error is logged.
void add_response_fields(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
