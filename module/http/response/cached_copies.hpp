#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Keeps a response that is about to be sent out of nginx's cache if it varies by a field (`Vary`)
/// that was removed from the request, or is removed in its location: nginx would look for the field
/// in the request and give the copy to all clients. The header filter calls it, also for
/// subrequests.
void forbid_shared_copy(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
