#include "module/http/config/phase_handler.hpp"

namespace tollgate::http {

std::span<ngx_http_handler_pt> add_phase_handler(ngx_conf_t* cf, ngx_http_phases phase,
                                                 ngx_http_handler_pt handler) {
    auto* core = static_cast<ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    ngx_array_t& handlers = core->phases[phase].handlers;
    auto* place = static_cast<ngx_http_handler_pt*>(ngx_array_push(&handlers));
    if (place == nullptr) {
        return {};
    }
    *place = handler;
    return {static_cast<ngx_http_handler_pt*>(handlers.elts), handlers.nelts};
}

}  // namespace tollgate::http
