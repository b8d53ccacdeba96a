#include "module/http/request/handlers.hpp"

#include <new>

#include "module/http/config/location_conf.hpp"
#include "module/http/request/outcome_wait.hpp"
#include "module/http/request/request_context.hpp"
#include "module/http/worker.hpp"

namespace tollgate::http {

namespace {

ngx_int_t answer(const RequestContext& context) {
    if (context.refuses()) {
        return context.outcome().status;
    }
    // NGX_OK grants the request under `satisfy any`: only a valid key may do that.
    return context.outcome().is_granted() ? NGX_OK : NGX_DECLINED;
}

ngx_int_t decide(ngx_http_request_t* r, const LocationConf& conf) {
    RequestContext& context = RequestContext::make(r, conf);
    switch (ngx_http_test_predicates(r, conf.bypass)) {
        case NGX_OK:
            context.start();
            break;
        case NGX_DECLINED:
            context.bypass();
            break;
        default:  // A value could not be evaluated.
            throw std::bad_alloc();
    }
    context.strip_request_fields(conf.stripped_fields());
    return context.outcome().is_decided() ? answer(context)
                                          : wait_for_outcome(r, context, ngx_http_core_run_phases);
}

/// Handles a request that was already decided and enters the access phase again, through an
/// internal redirect or an error page:
///
/// | before                           | now                                       |
/// |----------------------------------|-------------------------------------------|
/// | refused                          | passes: it is on its way to an error page |
/// | bypassed, or passed in a dry run | is decided by this location               |
/// | granted, to an error page        | passes                                    |
/// | granted, plan in these tables    | passes: it is counted already             |
/// | granted, plan not in them, or    | 403                                       |
/// | without a scope that it requires |                                           |
ngx_int_t decide_again(ngx_http_request_t* r, const LocationConf& conf,
                       const RequestContext& before) {
    if (before.refuses()) {
        return NGX_OK;
    }
    if (!before.outcome().is_granted()) {
        return decide(r, conf);
    }
    if (r->err_status >= NGX_HTTP_BAD_REQUEST) {
        return NGX_OK;
    }
    const auto refusal =
        before.admission().refusal_in(Worker::of(r).tables(*conf.tables), *conf.scopes);
    if (!refusal) {
        return NGX_OK;
    }
    RequestContext& context = RequestContext::make(r, conf);
    context.forbid(*refusal, before.outcome().record);
    return answer(context);
}

}  // namespace

ngx_int_t handle_access(ngx_http_request_t* r) noexcept {
    const LocationConf& conf = LocationConf::of(r);
    if (conf.tables == nullptr) {
        return NGX_DECLINED;
    }
    return guarded(r, [&] {
        const RequestContext* context = RequestContext::find(r);
        if (context == nullptr) {
            return decide(r, conf);
        }
        if (ngx_http_get_module_ctx(r, ngx_http_tollgate_module) == nullptr) {
            return decide_again(r, conf, *context);
        }
        return context->outcome().is_decided() ? answer(*context)
                                               : static_cast<ngx_int_t>(NGX_AGAIN);
    });
}

ngx_int_t settle_request(ngx_http_request_t* r) noexcept {
    RequestContext* context = r == r->main ? RequestContext::find(r) : nullptr;
    if (context != nullptr) {
        context->settle();
    }
    return NGX_OK;
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
