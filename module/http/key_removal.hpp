#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Adds what removes keys from requests that the access handler never sees: one that `satisfy any`
/// granted before its turn, a subrequest, and, from the access log, one that nginx or `return`
/// answered first. Returns false when memory is short.
bool add_key_removal(ngx_conf_t* cf);

}  // namespace tollgate::http
