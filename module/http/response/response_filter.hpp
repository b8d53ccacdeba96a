#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// nginx answers an error with a page of `error_page`, which Tollgate keeps, or with its built-in
/// page, which Tollgate replaces with an Error body. Nothing in a request tells the two apart when
/// its header is sent. But the built-in page clears Accept-Ranges (ngx_http_send_special_response):
/// a mark that is set there on the way to a page of `error_page` remains only if nginx finds the
/// page.
///
/// This handler of the two rewrite phases sets the mark.
ngx_int_t mark_error_page(ngx_http_request_t* r) noexcept;

/// nginx's postconfiguration. Installs the filters before those that are installed already. They
/// add the fields, and replace nginx's built-in error pages.
ngx_int_t install_response_filters(ngx_conf_t* cf) noexcept;

/// Adds Tollgate's fields to the header of a response: those of the quota, instead of the fields of
/// the upstream, `Retry-After` and `WWW-Authenticate`. Does nothing outside of tollgate locations.
/// A field for which memory is short is left out, with a line in the log. The header filter calls
/// it.
void add_response_fields(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
