#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Puts Tollgate's filters before those that nginx has so far; a postconfiguration.
ngx_int_t install_response_filters(ngx_conf_t* cf) noexcept;

}  // namespace tollgate::http
