#pragma once

#include "module/http/nginx.hpp"

/// The directives that set a content handler.
namespace tollgate::http {

/// Reads `tollgate_usage`.
char* read_usage(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
/// Reads `tollgate_status [ready]`.
char* read_status(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
/// Reads `tollgate_dashboard [STATUS_URI]`.
char* read_dashboard(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
/// Reads `tollgate_admin REDIS [read=SCOPE] [write=SCOPE]`.
char* read_admin(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
/// Reads `tollgate_console [API_URI]`.
char* read_console(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

}  // namespace tollgate::http
