#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Adds handlers that remove keys from requests that the access handler never sees: a request that
/// `satisfy any` granted earlier, a subrequest, and, before the access log is written, a request
/// that nginx or `return` answered earlier. Returns false if memory can't be allocated.
bool add_field_stripping(ngx_conf_t* cf);

/// A handler of NGX_HTTP_PREACCESS_PHASE that runs before those of nginx's own modules. Records
/// that the request reached a guarded location: `limit_req` or an access module may redirect it,
/// with its key, to an error page in an unguarded location.
ngx_int_t note_guarded(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
