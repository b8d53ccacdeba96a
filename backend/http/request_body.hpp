#pragma once

#include <cstddef>
#include <string_view>

#include "backend/http/nginx.hpp"

namespace petstore {

/// Handles a complete body, and finalizes the request or hands it to a DatabaseQueue. `body` is
/// valid during the call.
using BodyHandler = void (*)(ngx_http_request_t* r, std::string_view body) noexcept;

/// Reads the body of a request into memory, then calls `handler`. nginx writes no temporary file,
/// which would block the event loop. Returns what a content handler returns. Throws RequestError
/// (kBodyTooLarge) if Content-Length is above `limit` bytes. If a chunked body turns out to be too
/// large, it sends that error response and finalizes the request.
ngx_int_t read_request_body(ngx_http_request_t* r, std::size_t limit, BodyHandler handler);

}  // namespace petstore
