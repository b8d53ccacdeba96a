#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// nginx answers an error either with a page of the operator's (`error_page`), which wins, or with
/// a page of its own, which Tollgate replaces by an Error body. Nothing in a request tells the two
/// apart when its header is sent, but nginx's own page clears Accept-Ranges
/// (ngx_http_send_special_response): a mark that is put there when the request sets out for the
/// operator's page has survived if that page was found.

/// A handler of the two rewrite phases: marks requests that are on their way to the operator's
/// page.
ngx_int_t mark_error_page(ngx_http_request_t* r) noexcept;

/// Whether the response whose header is being sent is a page of nginx's own for an error. Takes the
/// mark away, so call it once.
bool is_builtin_error_page(ngx_http_request_t* r);

}  // namespace tollgate::http
