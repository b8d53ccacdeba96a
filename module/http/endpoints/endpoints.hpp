#pragma once

#include <string>
#include <string_view>

#include "module/http/config/location_conf.hpp"
#include "module/http/endpoints/page_file.hpp"
#include "module/http/nginx.hpp"

/// The content handlers of the directives that content_handler.hpp reads.
namespace tollgate::http {

/// The content handler of `tollgate_usage`: the caller's plan and quotas as JSON.
ngx_int_t handle_usage(ngx_http_request_t* r) noexcept;

/// The content handler of `tollgate_status`: the node's statistics, as JSON or for Prometheus.
ngx_int_t handle_status(ngx_http_request_t* r) noexcept;

/// The content handler of `tollgate_status ready`: 200 if every Redis is reachable, otherwise 503.
ngx_int_t handle_readiness(ngx_http_request_t* r) noexcept;

/// The content handler of `tollgate_admin`: the management of keys.
ngx_int_t handle_admin(ngx_http_request_t* r) noexcept;

/// The content handler of `tollgate_dashboard`.
ngx_int_t handle_dashboard(ngx_http_request_t* r) noexcept;

/// The content handler of `tollgate_console`.
ngx_int_t handle_console(ngx_http_request_t* r) noexcept;

/// The media type of pages.
inline constexpr std::string_view kHtmlType = "text/html; charset=utf-8";

/// Whether a request to a location with `tollgate_admin` changes nothing: a GET, or another one
/// that only reads.
bool is_admin_read(const ngx_http_request_t* r, const AdminConf& admin);

/// The dashboard as one location serves it.
struct Dashboard {
    PageFile page;
    std::string_view policy;  ///< its Content-Security-Policy
};

/// A dashboard that requests `status_uri`. Throws ParseError if this is not a path, or if the
/// module was built without the page.
Dashboard make_dashboard(std::string_view status_uri);

/// The console as one location serves it: a page, and the two files that it refers to.
struct Console {
    std::string base;  ///< the URI of the page: the location's name
    PageFile page;
    PageFile script;
    PageFile style;
    std::string_view policy;  ///< the Content-Security-Policy of the page
};

/// A console below `base` for the API below `api_uri`. Throws ParseError if this is not the path of
/// a location, or if the module was built without the page.
Console make_console(std::string_view base, std::string_view api_uri);

}  // namespace tollgate::http
