#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The key that a request has sent.
struct SentKey {
    std::optional<std::string_view> token;  ///< nothing: no key; it may be malformed
    const KeySource* source = nullptr;      ///< where it was found; nullptr: nowhere
};

/// Finds the key in the first source that has one, also if the request's fields were stripped. A
/// field that was sent twice has a malformed key.
SentKey find_key(const ngx_http_request_t* r, std::span<const KeySource> sources);

/// Whether another module may have refused a request that no location has decided yet, before it
/// was redirected. Without `recursive_error_pages`, nginx marks requests on their way to an error
/// page; with it, this is known only if the request comes from a guarded location.
bool may_be_refused_before(const ngx_http_request_t* r);

/// The value of a field as the client sent it, if the field was removed from this request. Nothing
/// if the request has the field, if it never had it, or while the main request is logged: access
/// logs have no trace of a key. `name` is in lower case.
std::optional<std::string> removed_value(const ngx_http_request_t* r, std::string_view name);

/// Values of key fields that were removed from a request. Lives in the pool of the request.
struct StrippedValues {
    std::vector<ngx_str_t> values;
};

/// The values of a request's fields with this name, as one list (RFC 9110 section 5.3). Nothing if
/// there is no such field.
std::optional<std::string> field_list(const ngx_http_request_t* r, std::string_view name);

/// Removes the fields that must not reach the upstream: those with a key, and those that only a
/// gateway may set (`X-RateLimit-*`, `RateLimit`, `RateLimit-Policy`). `$remote_user` keeps the
/// name that `auth_basic` has checked. Throws std::bad_alloc.
void strip_request_fields(ngx_http_request_t* r, std::span<const KeyField> keys);

}  // namespace tollgate::http
