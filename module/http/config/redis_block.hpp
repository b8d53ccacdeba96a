#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Reads `tollgate_redis NAME { … }`.
char* read_redis_block(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

}  // namespace tollgate::http
