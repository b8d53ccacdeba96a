// The filters are a separate module: nginx orders filters and access handlers by module, and the
// two need different places in that order (see module/module_order).

#include <array>
#include <utility>

#include "module/http/nginx.hpp"
#include "module/http/request/handlers.hpp"
#include "module/http/response/response_filter.hpp"

namespace tollgate::http {

namespace {

ngx_int_t add_handlers_and_filters(ngx_conf_t* cf) noexcept {
    // This module is ordered after nginx's own, so nginx calls its handlers first. Otherwise
    // `return` or `limit_req` could end the phase before them.
    constexpr std::array<std::pair<ngx_http_phases, ngx_http_handler_pt>, 3> kHandlers{{
        {NGX_HTTP_SERVER_REWRITE_PHASE, mark_error_page},
        {NGX_HTTP_REWRITE_PHASE, mark_error_page},
        {NGX_HTTP_PREACCESS_PHASE, note_guarded},
    }};
    for (const auto& [phase, handler] : kHandlers) {
        if (add_phase_handler(cf, phase, handler).empty()) {
            return NGX_ERROR;
        }
    }
    return install_response_filters(cf);
}

ngx_http_module_t filter_module_context = {
    nullptr,                   // preconfiguration
    add_handlers_and_filters,  // postconfiguration
    nullptr,                   // create main configuration
    nullptr,                   // init main configuration
    nullptr,                   // create server configuration
    nullptr,                   // merge server configuration
    nullptr,                   // create location configuration
    nullptr,                   // merge location configuration
};

}  // namespace

}  // namespace tollgate::http

ngx_module_t ngx_http_tollgate_filter_module = {
    NGX_MODULE_V1,
    &tollgate::http::filter_module_context,
    nullptr,  // directives
    NGX_HTTP_MODULE,
    nullptr,  // init master
    nullptr,  // init module
    nullptr,  // init process
    nullptr,  // init thread
    nullptr,  // exit thread
    nullptr,  // exit process
    nullptr,  // exit master
    NGX_MODULE_V1_PADDING,
};
