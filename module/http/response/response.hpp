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

/// Checks the method for a content handler: NGX_OK for GET and HEAD, otherwise the status to
/// return. Discards the body of the request.
ngx_int_t allow_reading_only(ngx_http_request_t* r);

/// Sends status 200 and a body, which must live as long as the request; `media_type` must be a
/// literal. Returns what a content handler returns. Throws std::bad_alloc.
ngx_int_t send_body(ngx_http_request_t* r, std::string_view media_type, std::string_view body);

/// The same for a text that caches must not store.
ngx_int_t send_text(ngx_http_request_t* r, std::string_view media_type, std::string text);

}  // namespace tollgate::http
