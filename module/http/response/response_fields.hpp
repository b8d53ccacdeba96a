#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Puts into a response's header what Tollgate has to say: the quota's fields in the place of an
/// upstream's own, `Retry-After` and `WWW-Authenticate`. Does nothing outside of tollgate
/// locations. A field that memory is short for is left out, with a line in the log.
void add_response_fields(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
