#pragma once

#include "module/http/nginx.hpp"
#include "module/http/request/request_context.hpp"

namespace tollgate::http {

/// Makes a request wait. `on_event` runs, outside the reader of replies, when an event is posted to
/// the write side of its connection, and when the time is over. If the client closes the
/// connection, nginx ends the request with 499, as in ngx_http_limit_req_handler. Returns
/// NGX_AGAIN, or an HTTP status if the request can't wait.
ngx_int_t suspend(ngx_http_request_t* r, ngx_http_event_handler_pt on_event, ngx_msec_t time);
/// For `on_event`, at its beginning: whether the time is over.
bool take_timeout(ngx_http_request_t* r) noexcept;
/// Ends the wait.
void end_wait(ngx_http_request_t* r) noexcept;

/// Makes a request wait until `context` is decided or needs the body of the request, then calls
/// `resume`, outside the reader of replies. The decision may take several Redis calls, which share
/// one `timeout`. Returns what suspend() does. Throws std::bad_alloc.
ngx_int_t wait_for_outcome(ngx_http_request_t* r, RequestContext& context,
                           ngx_http_event_handler_pt resume);

}  // namespace tollgate::http
