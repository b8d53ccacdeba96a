#include "module/http/request/phase_handlers.hpp"

#include "module/http/request/request_context.hpp"

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

ngx_int_t count_request(ngx_http_request_t* r) noexcept {
    const RequestContext* context = r == r->main ? RequestContext::find(r) : nullptr;
    if (context == nullptr) {
        return NGX_OK;
    }
    const gateway::Outcome& outcome = context->outcome();
    if (auto* statistics = context->admission().tables().statistics_of(outcome.key().plan)) {
        statistics->note(outcome.verdict, context->conf().dry_run != 0);
    }
    return NGX_OK;
}

}  // namespace tollgate::http
