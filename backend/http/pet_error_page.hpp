#pragma once

#include "backend/http/nginx.hpp"

namespace petstore {

/// Installs the filters that replace nginx's own pages for errors by Error bodies, in locations
/// with a `petstore` directive, and where a server that has such a location answers before it has
/// found one (a malformed request, TRACE, a URI that is too long). A page of `error_page` stays.
/// Called once for a configuration.
ngx_int_t install_error_page_filters(ngx_conf_t* cf) noexcept;

}  // namespace petstore
