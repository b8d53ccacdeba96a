#pragma once

#include <optional>
#include <string_view>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Compiles a value of a directive, which may contain variables. Throws std::bad_alloc, or
/// LoggedConfError.
ngx_http_complex_value_t compile(ngx_conf_t* cf, std::string_view text);

/// Whether the value contains a variable.
inline bool has_variables(const ngx_http_complex_value_t& value) {
    return value.lengths != nullptr;
}

/// Whether the text has a variable of this name, or with this prefix if the name ends with `_`.
/// nginx reads names in any case.
bool has_variable(std::string_view text, std::string_view name);

/// The value for a request, in the memory of the request or of the configuration. Nothing if memory
/// is short or a variable fails.
std::optional<std::string_view> evaluate(ngx_http_request_t* r,
                                         const ngx_http_complex_value_t* value);

}  // namespace tollgate::http
