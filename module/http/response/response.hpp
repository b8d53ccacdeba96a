#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Adds a field to the response; `name` must be a literal. Throws std::bad_alloc.
ngx_table_elt_t* add_field(ngx_http_request_t* r, std::string_view name, std::string_view value);
/// The same with a number.
void add_field(ngx_http_request_t* r, std::string_view name, std::int64_t value);

/// Turns away, for a content handler, all methods but GET and HEAD. NGX_OK for these two, else the
/// status to return. A request's body is discarded.
ngx_int_t allow_reading_only(ngx_http_request_t* r);

/// Answers with a body that outlives the request; `media_type` must be a literal. Returns what a
/// content handler returns.
ngx_int_t send_body(ngx_http_request_t* r, std::string_view media_type, std::string_view body);

/// The same with a text that no cache may keep.
ngx_int_t send_text(ngx_http_request_t* r, std::string_view media_type, std::string text);

}  // namespace tollgate::http
