#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "module/http/nginx.hpp"
#include "module/nginx/response.hpp"

namespace tollgate::http {

using nginx::add_field;
/// The same for a number.
void add_field(ngx_http_request_t* r, std::string_view name, std::int64_t value);

/// Allows only GET and HEAD, for a content handler. Returns NGX_OK for these two, otherwise the
/// status to return. Discards the request's body.
ngx_int_t allow_reading_only(ngx_http_request_t* r);

/// Sends a response. `body` must outlive the request; `media_type` must be a literal. Returns the
/// value for a content handler to return.
ngx_int_t send_body(ngx_http_request_t* r, std::string_view media_type, std::string_view body,
                    ngx_uint_t status = NGX_HTTP_OK);

/// The same with `Cache-Control: no-store`; keeps the text alive.
ngx_int_t send_text(ngx_http_request_t* r, std::string_view media_type, std::string text,
                    ngx_uint_t status = NGX_HTTP_OK);

}  // namespace tollgate::http
