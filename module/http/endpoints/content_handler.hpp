#pragma once

#include "module/http/config/location_conf.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

/// A directive that sets a location's content handler, and its place in the configuration.
struct ContentHandler {
    ngx_http_handler_pt handler;
    ngx_str_t directive;
    Position position;
};

/// Makes `handler` the content handler of the location, for a directive that reads it.
char* read_content_handler(ngx_conf_t* cf, const ngx_command_t* command, void* conf,
                           ngx_http_handler_pt handler) noexcept;

/// Reads `tollgate_usage`, `tollgate_status [ready]` and `tollgate_dashboard [STATUS_URI]`.
char* read_usage(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* read_status(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* read_dashboard(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Merges the content handler of a location. Call it when the plan tables are merged. `if` and
/// `limit_except` blocks inherit the handler of the location around them. Returns false after
/// logging why the handler can't serve the location.
bool merge_content_handler(ngx_conf_t* cf, const LocationConf& outer, LocationConf& conf);

}  // namespace tollgate::http
