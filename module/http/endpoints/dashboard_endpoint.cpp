#include "module/http/endpoints/endpoints.hpp"

#include <span>

#include "module/http/config/location_conf.hpp"
#include "module/key/digest.hpp"
#include "module/report/dashboard_page.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

namespace {

/// The ETag of a page: the first 12 bytes of its SHA-256.
std::string etag_of(std::string_view page) {
    constexpr std::size_t kBytes = 12;
    const Sha256 digest = sha256(page);
    return "\"" + hex(std::span(digest).first<kBytes>()) + "\"";
}

ngx_int_t send_dashboard(ngx_http_request_t* r) {
    if (const ngx_int_t rc = allow_reading_only(r); rc != NGX_OK) {
        return rc;
    }
    const Dashboard& dashboard = *LocationConf::of(r).content->dashboard;
    // With `no-cache`, a browser asks each time whether the page has changed. nginx's not-modified
    // filter answers 304.
    r->headers_out.etag = add_field(r, "ETag", dashboard.etag);
    add_field(r, "Cache-Control", "no-cache");
    add_field(r, "Content-Security-Policy", dashboard.policy);
    add_field(r, "X-Content-Type-Options", "nosniff");
    add_field(r, "Referrer-Policy", "no-referrer");
    return send_body(r, "text/html; charset=utf-8", dashboard.page);
}

}  // namespace

Dashboard make_dashboard(std::string_view status_uri) {
    const DashboardTemplate* page = dashboard_template();
    if (page == nullptr) {
        throw ParseError("\"tollgate_dashboard\": the page is not in this build of the module");
    }
    Dashboard dashboard{
        .page = dashboard_page(*page, status_uri), .etag = {}, .policy = page->policy};
    dashboard.etag = etag_of(dashboard.page);
    return dashboard;
}

ngx_int_t handle_dashboard(ngx_http_request_t* r) noexcept {
    return guarded(r, [&] { return send_dashboard(r); });
}

}  // namespace tollgate::http
