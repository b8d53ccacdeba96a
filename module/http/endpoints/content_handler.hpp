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

/// Reads `tollgate_usage`, `tollgate_status` and `tollgate_dashboard [STATUS_URI]`.
char* read_usage(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* read_status(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* read_dashboard(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Part of merging locations, when their plan tables are merged: `if` and `limit_except` answer as
/// the location around them. False after a message of what a handler lacks: a plan table.
bool merge_content_handler(ngx_conf_t* cf, const LocationConf& outer, LocationConf& conf);

}  // namespace tollgate::http
