#include "module/http/request/request_statistics.hpp"

#include "module/http/request/request_context.hpp"

namespace tollgate::http {

ngx_int_t count_request(ngx_http_request_t* r) noexcept {
    const RequestContext* context = r == r->main ? RequestContext::find(r) : nullptr;
    if (context == nullptr) {
        return NGX_OK;
    }
    const gateway::Outcome& outcome = context->outcome();
    if (auto* statistics = context->admission().tables().statistics_of(outcome.key.plan)) {
        statistics->note(outcome.verdict, context->conf().dry_run != 0);
    }
    return NGX_OK;
}

}  // namespace tollgate::http
