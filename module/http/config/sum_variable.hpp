#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Reads `tollgate_sum $variable TERM…`, where a term is VALUE or VALUE*VALUE, and a value is a
/// decimal number or a variable. See UnitSum.
char* read_sum(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

}  // namespace tollgate::http
