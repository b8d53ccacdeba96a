#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "module/http/nginx.hpp"

// Variables that directives set.

namespace tollgate::http {

/// Parses `$name`, the variable that a directive sets. Returns the name in lower case, as nginx has
/// it. Throws ParseError.
std::string parse_variable(std::string_view word);

/// Defines a variable whose value is never cached. `flags` are nginx's NGX_HTTP_VAR_…: with
/// NGX_HTTP_VAR_CHANGEABLE, it may be defined again with the same handler. The caller sets its
/// data. Throws ParseError if another directive sets it, or LoggedConfError.
ngx_http_variable_t& define_variable(ngx_conf_t* cf, std::string_view name, ngx_uint_t flags,
                                     ngx_http_get_variable_pt get);

/// The name of a variable whose data is a pointer to its name, an ngx_str_t.
std::string_view name_of_variable(uintptr_t data);

/// Sets the value of a variable to a copy of the text. Without a text, it is not found. Throws
/// std::bad_alloc.
void set_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                  std::optional<std::string_view> text);

}  // namespace tollgate::http
