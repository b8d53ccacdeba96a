#pragma once

#include "module/http/config/json_values.hpp"
#include "module/http/nginx.hpp"

/// `tollgate_response_json`: reads the bodies of responses as they pass.
namespace tollgate::http {

/// Begins to read the response whose header is sent now, if the location says so and its body is
/// JSON or a stream of events. The header filter calls it for main requests. If memory is short,
/// the response is not read, with a line in the log.
void start_reading_response(ngx_http_request_t* r) noexcept;

/// Reads buffers of the body, and leaves them as they are. Does nothing for a request whose
/// response is not read.
void read_response(ngx_http_request_t* r, const ngx_chain_t* in) noexcept;

/// A request has ended. Whether its response is successful (2xx) and lacks a value that
/// `tollgate_response_json` requires, which is logged, once a minute at most.
bool lacks_required_value(ngx_http_request_t* r) noexcept;

/// What nginx calls for a variable of `tollgate_response_json`: its value so far.
ngx_int_t get_response_json(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                            uintptr_t data) noexcept;

}  // namespace tollgate::http
