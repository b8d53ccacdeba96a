#include "module/http/config/location_conf.hpp"
#include "module/http/endpoints/endpoints.hpp"
#include "module/report/web_pages.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

namespace {

/// The file that a URI means; nullptr if the console has no such file.
const PageFile* find_file(const Console& console, std::string_view uri) {
    // `rewrite` may have left the location.
    if (!uri.starts_with(console.base)) {
        return nullptr;
    }
    const auto name = uri.substr(console.base.size());
    if (name.empty()) {
        return &console.page;
    }
    if (name == "console.js") {
        return &console.script;
    }
    return name == "console.css" ? &console.style : nullptr;
}

}  // namespace

Console make_console(std::string_view base, std::string_view api_uri) {
    const PageTemplate* page = console_template();
    if (page == nullptr) {
        throw ParseError("\"tollgate_console\": the page is not in this build of the module");
    }
    constexpr std::string_view kScriptType = "text/javascript; charset=utf-8";
    constexpr std::string_view kStyleType = "text/css; charset=utf-8";
    return {.base = std::string(base),
            .page = make_page_file(kHtmlType, console_page(*page, api_uri)),
            .script = make_page_file(kScriptType, std::string(page->script)),
            .style = make_page_file(kStyleType, std::string(page->style)),
            .policy = page->policy};
}

ngx_int_t handle_console(ngx_http_request_t* r) noexcept {
    return guarded(r, [&]() -> ngx_int_t {
        const Console& console = *LocationConf::of(r).content->console;
        const PageFile* file = find_file(console, view(r->uri));
        if (file == nullptr) {
            return NGX_HTTP_NOT_FOUND;
        }
        if (const ngx_int_t rc = allow_reading_only(r); rc != NGX_OK) {
            return rc;
        }
        return send_page_file(r, *file, console.policy);
    });
}

}  // namespace tollgate::http
