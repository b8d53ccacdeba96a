#pragma once

#include <cstdint>
#include <optional>

#include "module/http/nginx.hpp"

/// `tollgate_response_usage`: reads the bodies of responses as they pass.
namespace tollgate::http {

/// Begins to read the response whose header is sent now, if the location says so and its body is
/// JSON or a stream of events. The header filter calls it for main requests. If memory is short,
/// the response is not read, with a line in the log.
void start_reading_usage(ngx_http_request_t* r) noexcept;

/// Reads buffers of the body, and leaves them as they are. Does nothing for a request whose
/// response is not read.
void read_usage(ngx_http_request_t* r, const ngx_chain_t* in) noexcept;

/// `$tollgate_response_usage`: the sum so far; empty if there is none.
std::optional<std::int64_t> response_usage_of(const ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
