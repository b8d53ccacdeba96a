#pragma once

#include "module/http/config/json_values.hpp"
#include "module/http/nginx.hpp"

/// `tollgate_request_json`: reads the JSON body of a request before its quota is decided.
namespace tollgate::http {

/// Whether the body of the request may have values: it is said to be JSON without an encoding, and
/// not to be larger than those that are read.
bool may_have_json_body(ngx_http_request_t* r, const JsonValuesConf& conf);

/// Reads the values of the body that nginx has read. A malformed one, and a larger one, has none.
/// Throws std::bad_alloc.
void read_json_body(ngx_http_request_t* r, const JsonValuesConf& conf);

/// The first variable that is required and has no value; nullptr if there is none.
const JsonVariable* find_missing_value(const ngx_http_request_t* r, const JsonValuesConf& conf);

/// What nginx calls for a variable of `tollgate_request_json`.
ngx_int_t get_request_json(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                           uintptr_t data) noexcept;

}  // namespace tollgate::http
