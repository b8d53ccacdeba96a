#include "module/http/request/phase_handlers.hpp"

#include <optional>

#include "module/http/config/location_conf.hpp"
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

/// Whether the request keeps waiting after its timer has fired. If not, this decides it.
bool continues(ngx_http_request_t* r, RequestContext& context) {
    // Replies may have come while the event loop stalled.
    Worker::of(r).client(*context.conf().tables).poll();
    if (context.outcome().is_decided()) {
        return true;  // The outcome has posted an event.
    }
    if (const auto rest = context.patience().rest(Patience::Clock::now())) {
        ngx_add_timer(r->connection->write, static_cast<ngx_msec_t>(rest->count()));
        return true;
    }
    context.time_out();
    return false;
}

/// Handles events of the connection's write side while the request waits.
void on_write_event(ngx_http_request_t* r) noexcept {
    RequestContext* context = RequestContext::find(r);
    ngx_event_t* write = r->connection->write;
    const bool timer_fired = write->timedout != 0;
    write->timedout = 0;
    if (context != nullptr && !context->outcome().is_decided()) {
        if (!timer_fired) {
            return;
        }
        const auto waits = guarded(r->connection->log, std::optional<bool>(),
                                   [&] { return std::optional(continues(r, *context)); });
        if (!waits) {
            ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
            return;
        }
        if (*waits) {
            return;
        }
    }
    if (write->timer_set != 0) {
        ngx_del_timer(write);
    }
    r->read_event_handler = ngx_http_block_reading;
    r->write_event_handler = ngx_http_core_run_phases;
    ngx_http_core_run_phases(r);
}

/// Makes the request wait for its outcome. This may take several Redis calls, which share one
/// `timeout`. If the client closes the connection, nginx ends the request with 499, as in
/// ngx_http_limit_req_handler.
ngx_int_t wait_for_outcome(ngx_http_request_t* r, RequestContext& context) {
    const auto timeout = Worker::of(r).client(*context.conf().tables).timeout();
    context.patience() = Patience(Patience::Clock::now(), timeout);
    ngx_event_t* read = r->connection->read;
    if (read->ready != 0) {
        ngx_post_event(read, &ngx_posted_events);
    } else if (ngx_handle_read_event(read, 0) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = on_write_event;
    ngx_add_timer(r->connection->write, static_cast<ngx_msec_t>(timeout.count()));
    return NGX_AGAIN;
}

ngx_int_t decide(ngx_http_request_t* r, const LocationConf& conf) {
    RequestContext& context = RequestContext::make(r, conf);
    if (ngx_http_test_predicates(r, conf.bypass) == NGX_OK) {
        context.start();
    } else {
        context.bypass();
    }
    context.strip_request_fields(conf.stripped_fields());
    return context.outcome().is_decided() ? answer(context) : wait_for_outcome(r, context);
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
        before.admission().refusal_in(Worker::of(r).tables(*conf.tables), view(conf.scopes));
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
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR), [&] {
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

}  // namespace tollgate::http
