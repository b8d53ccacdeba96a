#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Installs Tollgate's filters before the existing ones; called at postconfiguration.
ngx_int_t install_response_filters(ngx_conf_t* cf) noexcept;

}  // namespace tollgate::http
