#pragma once

#include <string>
#include <string_view>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The dashboard as one location serves it.
struct Dashboard {
    std::string page;
    std::string etag;         ///< with its quotes
    std::string_view policy;  ///< its Content-Security-Policy
};

/// Makes a dashboard that reads the statistics from `status_uri`. Throws ParseError if that is not
/// a path, or if the module was built without the page.
Dashboard make_dashboard(std::string_view status_uri);

/// The content handler of `tollgate_dashboard`.
ngx_int_t handle_dashboard(ngx_http_request_t* r) noexcept;

}  // namespace tollgate::http
