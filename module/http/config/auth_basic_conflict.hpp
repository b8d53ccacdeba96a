#pragma once

#include "module/http/config/location_conf.hpp"
#include "module/http/nginx.hpp"

/// `tollgate` and nginx's `auth_basic` both read `Authorization`, and a request has only one such
/// field: where a request must satisfy both, none is ever granted.
namespace tollgate::http {

/// Remembers the location that is being merged if `tollgate` guards it. For merge_location_conf.
void note_guarded_place(ngx_conf_t* cf, const LocationConf& conf);

/// Logs a warning for each place noted where `auth_basic` is on too and `satisfy` is `all`. To be
/// called when the whole configuration is merged.
void warn_of_auth_basic(ngx_conf_t* cf);

}  // namespace tollgate::http
