#pragma once

#include <optional>
#include <string_view>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Makes nginx keep the token of `Authorization` out of its debug log, which shows every field as
/// soon as it is read: between that and the first phase the field holds its scheme only. False
/// after a message.
bool hide_authorization_from_log(ngx_conf_t* cf) noexcept;

/// Gives the field its whole value back: the handler of the first phase, NGX_HTTP_POST_READ_PHASE.
ngx_int_t restore_authorization(ngx_http_request_t* r) noexcept;

/// The value of `Authorization`; nothing where there is none.
std::optional<std::string_view> authorization_of(const ngx_http_request_t* r);

/// Removes the fields that mustn't reach the upstream: `Authorization`, unless it is to be
/// forwarded, and those that only a gateway may set (`X-RateLimit-*`, `RateLimit`,
/// `RateLimit-Policy`).
void strip_request_fields(ngx_http_request_t* r, bool forward_authorization);

}  // namespace tollgate::http
