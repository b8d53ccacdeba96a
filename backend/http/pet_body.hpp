#pragma once

#include <cstddef>
#include <string_view>

#include "backend/http/nginx.hpp"

namespace petstore {

/// Takes a request's body, which is valid during the call, and sees to it that the request is
/// finalized.
using BodyHandler = void (*)(ngx_http_request_t* r, std::string_view body) noexcept;

/// Reads the body into memory as it arrives, so that the event loop writes no temporary files, and
/// hands it on. Returns what a content handler returns. Throws Refusal (kBodyTooLarge) for one that
/// says that it is longer than `limit` bytes, and answers one that turns out to be.
ngx_int_t read_body(ngx_http_request_t* r, std::size_t limit, BodyHandler handler);

}  // namespace petstore
