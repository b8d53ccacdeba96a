#pragma once

#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Reads `tollgate_key_from bearer | header:NAME…`.
char* read_key_from(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Finds the fields and the variables of all sources. Returns false after logging why a field
/// cannot have keys. Call it when the whole configuration is merged.
bool resolve_key_sources(ngx_conf_t* cf);

}  // namespace tollgate::http
