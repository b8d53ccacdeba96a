#pragma once

#include "module/http/nginx.hpp"

/// `tollgate` and nginx's `auth_basic` both read `Authorization`, and a request has only one such
/// field. No request can satisfy both.
namespace tollgate::http {

/// Logs a warning for each guarded place where `auth_basic` is on too and `satisfy` is `all`.
/// Call it when the whole configuration is merged.
void warn_of_auth_basic(ngx_conf_t* cf);

}  // namespace tollgate::http
