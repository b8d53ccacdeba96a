#pragma once

#include <optional>
#include <string_view>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The value of `Authorization`; nullopt if there is none.
std::optional<std::string_view> authorization_of(const ngx_http_request_t* r);

/// Removes the fields that must not reach the upstream: `Authorization`, unless it is forwarded,
/// and the fields that only a gateway may set (`X-RateLimit-*`, `RateLimit`, `RateLimit-Policy`).
/// Throws std::bad_alloc.
void strip_request_fields(ngx_http_request_t* r, bool forward_authorization);

}  // namespace tollgate::http
