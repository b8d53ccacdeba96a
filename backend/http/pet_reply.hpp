#pragma once

#include <string_view>

#include "backend/core/pet_answer.hpp"
#include "backend/http/nginx.hpp"

namespace petstore {

/// A copy of `text` in the request's pool. Its data is null where there is no memory.
ngx_str_t copy(ngx_http_request_t* r, std::string_view text);

/// Sends an answer; what is left of the request's body is discarded, without 100 (Continue).
/// Returns what ngx_http_finalize_request() takes. The body must not be discarded before: nginx
/// would end a request whose body ends too early while a thread works for it
/// (ngx_http_discarded_request_body_handler).
ngx_int_t send(ngx_http_request_t* r, const Answer& answer);

}  // namespace petstore
