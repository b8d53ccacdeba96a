#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// nginx answers an error with the operator's page (`error_page`) or with its built-in page. The
/// operator's page takes precedence; Tollgate replaces the built-in page by an Error body. When the
/// header is sent, the request does not show which of the two it is. But the built-in page clears
/// Accept-Ranges (ngx_http_send_special_response). So Tollgate sets a mark in Accept-Ranges when
/// the request is redirected to the operator's page. If the mark is still there, the response is
/// the operator's page.

/// A handler of the two rewrite phases: marks requests that are redirected to the operator's page.
ngx_int_t mark_error_page(ngx_http_request_t* r) noexcept;

/// Whether the response whose header is being sent is nginx's built-in page for an error. Removes
/// the mark, so call it once.
bool is_builtin_error_page(ngx_http_request_t* r);

}  // namespace tollgate::http
