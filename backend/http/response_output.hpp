#pragma once

#include "backend/core/pet_response.hpp"
#include "backend/http/nginx.hpp"

namespace petstore {

/// Sends a response, and discards the rest of the request's body without 100 (Continue). A long
/// body is moved and not copied: the response must not be used afterwards. Returns what
/// ngx_http_finalize_request() takes. Throws std::bad_alloc.
///
/// Do not discard the body earlier: nginx finalizes a request when it discards a body that ends too
/// early (ngx_http_discarded_request_body_handler), even while a thread works for the request.
ngx_int_t send_response(ngx_http_request_t* r, Response&& response);

/// nginx's postconfiguration. Installs the filters that replace nginx's built-in error pages with
/// Error bodies: in locations with `petstore`, and where a server that has such a location answers
/// outside of all locations (a malformed request, TRACE, a URI that is too long). They keep the
/// pages of `error_page`.
ngx_int_t install_error_page_filters(ngx_conf_t* cf) noexcept;

}  // namespace petstore
