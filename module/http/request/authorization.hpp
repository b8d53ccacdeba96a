#pragma once

#include <optional>
#include <string_view>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The value of `Authorization`; nothing where there is none.
std::optional<std::string_view> authorization_of(const ngx_http_request_t* r);

/// Removes the fields that mustn't reach the upstream: `Authorization`, unless it is to be
/// forwarded, and those that only a gateway may set (`X-RateLimit-*`, `RateLimit`,
/// `RateLimit-Policy`).
void strip_request_fields(ngx_http_request_t* r, bool forward_authorization);

}  // namespace tollgate::http
