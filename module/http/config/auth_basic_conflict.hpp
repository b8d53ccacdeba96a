#pragma once

#include "module/http/config/location_conf.hpp"
#include "module/http/nginx.hpp"

/// `tollgate` and nginx's `auth_basic` both read `Authorization`, and a request has only one such
/// field. No request can satisfy both.
namespace tollgate::http {

/// Records the location that is being merged if `tollgate` guards it. Called by
/// merge_location_conf.
void note_guarded_place(ngx_conf_t* cf, const LocationConf& conf);

/// Logs a warning for each recorded location where `auth_basic` is on too and `satisfy` is `all`.
/// Call it when the whole configuration is merged.
void warn_of_auth_basic(ngx_conf_t* cf);

}  // namespace tollgate::http
