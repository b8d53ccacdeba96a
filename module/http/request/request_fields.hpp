#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Adds what removes keys from requests that the access handler never sees: one that `satisfy any`
/// granted before its turn, a subrequest, and, from the access log, one that nginx or `return`
/// answered first. Returns false when memory is short.
bool add_field_stripping(ngx_conf_t* cf);

/// A handler of NGX_HTTP_PREACCESS_PHASE, before those of nginx's own modules: remembers that the
/// request came to a guarded location. `limit_req` or an access module may send it on, with its
/// key, to a page in a location that isn't.
ngx_int_t note_guarded(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
