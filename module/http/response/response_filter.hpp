#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Installs Tollgate's filters ahead of the present ones; a postconfiguration.
ngx_int_t install_response_filters(ngx_conf_t* cf) noexcept;

}  // namespace tollgate::http
