#include "module/http/config/location_conf.hpp"
#include "module/http/endpoints/endpoints.hpp"
#include "module/report/web_pages.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

Dashboard make_dashboard(std::string_view status_uri) {
    const PageTemplate* page = dashboard_template();
    if (page == nullptr) {
        throw ParseError("\"tollgate_dashboard\": the page is not in this build of the module");
    }
    return {.page = make_page_file(kHtmlType, dashboard_page(*page, status_uri)),
            .policy = page->policy};
}

ngx_int_t handle_dashboard(ngx_http_request_t* r) noexcept {
    return guarded(r, [&]() -> ngx_int_t {
        if (const ngx_int_t rc = allow_reading_only(r); rc != NGX_OK) {
            return rc;
        }
        const Dashboard& dashboard = *LocationConf::of(r).content->dashboard;
        return send_page_file(r, dashboard.page, dashboard.policy);
    });
}

}  // namespace tollgate::http
