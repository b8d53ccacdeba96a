#pragma once

#include "backend/core/pet_answer.hpp"
#include "backend/http/nginx.hpp"

namespace petstore {

/// Sends an answer. Returns what ngx_http_finalize_request() takes.
ngx_int_t send(ngx_http_request_t* r, const Answer& answer);

}  // namespace petstore
