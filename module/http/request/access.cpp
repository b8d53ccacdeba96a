#include "module/http/request/handlers.hpp"

#include <new>

#include "module/http/config/location_conf.hpp"
#include "module/http/config/subject_conf.hpp"
#include "module/http/request/key_fields.hpp"
#include "module/http/request/outcome_wait.hpp"
#include "module/http/request/request_context.hpp"
#include "module/http/request/request_json.hpp"
#include "module/http/request/response_json.hpp"
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

void on_body(ngx_http_request_t* r) noexcept;

/// The answer of a request that is decided, or that waits; or reads its body first, as
/// ngx_http_mirror_handler does. NGX_DONE: the request may have ended meanwhile.
ngx_int_t answer_or_wait(ngx_http_request_t* r, RequestContext& context) {
    if (context.needs_body()) {
        if (may_have_json_body(r, *context.conf().request_json)) {
            const ngx_int_t rc = ngx_http_read_client_request_body(r, on_body);
            if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
                return rc;
            }
            ngx_http_finalize_request(r, NGX_DONE);
            return NGX_DONE;
        }
        context.go_on_with_body();
    }
    return context.outcome().is_decided() ? answer(context)
                                          : wait_for_outcome(r, context, ngx_http_core_run_phases);
}

/// nginx has read the body of the request.
void on_body(ngx_http_request_t* r) noexcept {
    RequestContext& context = *RequestContext::find_here(r);
    const ngx_int_t rc = guarded(r, [&] {
        context.go_on_with_body();
        return answer_or_wait(r, context);
    });
    if (context.outcome().is_decided()) {
        r->write_event_handler = ngx_http_core_run_phases;
        ngx_http_core_run_phases(r);
    } else if (rc != NGX_AGAIN) {
        ngx_http_finalize_request(r, rc);
    }
}

/// `is_late`: see add_subject_counting.
ngx_int_t decide(ngx_http_request_t* r, const LocationConf& conf, bool is_late) {
    RequestContext& context = RequestContext::make(r, conf);
    context.set_late(is_late);
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
    return answer_or_wait(r, context);
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
                       const RequestContext& before, bool is_late) {
    if (before.refuses()) {
        return NGX_OK;
    }
    if (!before.outcome().is_granted()) {
        return decide(r, conf, is_late);
    }
    if (r->err_status >= NGX_HTTP_BAD_REQUEST) {
        return NGX_OK;
    }
    const auto refusal =
        before.admission().refusal_in(Worker::of(r).tables(*conf.tables), conf.scopes_of(r));
    if (!refusal) {
        return NGX_OK;
    }
    RequestContext& context = RequestContext::make(r, conf);
    context.set_late(is_late);
    context.forbid(*refusal, before.outcome().record);
    return answer(context);
}

ngx_int_t handle(ngx_http_request_t* r, const LocationConf& conf, bool is_late) {
    const RequestContext* context = RequestContext::find(r);
    if (context == nullptr) {
        return decide(r, conf, is_late);
    }
    RequestContext* here = RequestContext::find_here(r);
    if (here == nullptr) {
        return decide_again(r, conf, *context, is_late);
    }
    return here->outcome().is_decided() || here->needs_body() ? answer_or_wait(r, *here)
                                                              : static_cast<ngx_int_t>(NGX_AGAIN);
}

/// Decides a request that other modules have granted, unless this location has let it pass before.
ngx_int_t decide_late(ngx_http_request_t* r, const LocationConf& conf) {
    const RequestContext* here = RequestContext::find_here(r);
    if (here != nullptr && here->is_late()) {
        return handle(r, conf, true);
    }
    const bool has_passed = here != nullptr && !here->refuses();
    if (has_passed || conf.subject->subject_of(r).id.empty()) {
        return NGX_DECLINED;
    }
    return here == nullptr ? handle(r, conf, true) : decide(r, conf, true);
}

/// A handler of NGX_HTTP_PRECONTENT_PHASE. With `satisfy any`, nginx calls no access handler after
/// the first one that grants the request. The quota of a subject counts it all the same.
ngx_int_t count_subject(ngx_http_request_t* r) noexcept {
    const LocationConf& conf = LocationConf::of(r);
    const auto* core = static_cast<const ngx_http_core_loc_conf_t*>(
        ngx_http_get_module_loc_conf(r, ngx_http_core_module));
    if (conf.tables == nullptr || conf.subject == nullptr || r != r->main ||
        core->satisfy != NGX_HTTP_SATISFY_ANY || r->err_status >= NGX_HTTP_BAD_REQUEST ||
        (RequestContext::find(r) == nullptr && may_be_refused_before(r))) {
        return NGX_DECLINED;
    }
    const ngx_int_t rc = guarded(r, [&] { return decide_late(r, conf); });
    // NGX_OK would end this phase.
    return rc == NGX_OK ? static_cast<ngx_int_t>(NGX_DECLINED) : rc;
}

}  // namespace

ngx_int_t handle_access(ngx_http_request_t* r) noexcept {
    const LocationConf& conf = LocationConf::of(r);
    if (conf.tables == nullptr) {
        return NGX_DECLINED;
    }
    return guarded(r, [&] { return handle(r, conf, false); });
}

bool add_subject_counting(ngx_conf_t* cf) {
    return !add_phase_handler(cf, NGX_HTTP_PRECONTENT_PHASE, count_subject).empty();
}

ngx_int_t settle_and_count(ngx_http_request_t* r) noexcept {
    RequestContext* context = r == r->main ? RequestContext::find(r) : nullptr;
    if (context == nullptr) {
        return NGX_OK;
    }
    context->settle();
    if (lacks_required_value(r)) {
        context->admission().note_missing_usage();
    }
    const ContentHandler* content = context->conf().content;
    if (content == nullptr || content->admin == nullptr) {
        Worker::of(r).admin_tasks().note_request();
    }
    if (auto* statistics = context->admission().statistics()) {
        const engine::Outcome& outcome = context->outcome();
        statistics->note(outcome.verdict, context->conf().dry_run != 0,
                         outcome.is_granted() && is_over(outcome.windows));
    }
    return NGX_OK;
}

}  // namespace tollgate::http
