#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Adds the `$tollgate_…` variables; a preconfiguration.
ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

}  // namespace tollgate::http
