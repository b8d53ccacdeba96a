#include "module/http/request/access.hpp"

#include <optional>

#include "module/http/config/location_conf.hpp"
#include "module/http/decision.hpp"
#include "module/http/redis_client.hpp"
#include "module/http/request/authorization.hpp"

namespace tollgate::http {

namespace {

ngx_int_t answer(const Decision& decision) {
    if (decision.refuses()) {
        return decision.status();
    }
    // NGX_OK would grant the request where `satisfy any` holds: only a key that was counted may do
    // that.
    return decision.grants() ? NGX_OK : NGX_DECLINED;
}

/// Whether the request goes on waiting when its timer has fired. If not, it is decided.
bool waits_on(ngx_http_request_t* r, Decision& decision) {
    // Replies may have come while the event loop stalled.
    decision.conf().tables->redis->client->connection().poll();
    if (decision.settled()) {
        return true;  // for the event that this has posted
    }
    if (const auto rest = decision.patience().rest(Patience::Clock::now())) {
        ngx_add_timer(r->connection->write, static_cast<ngx_msec_t>(rest->count()));
        return true;
    }
    decision.time_out();
    return false;
}

/// What the request does on the events of its connection's write side while it waits.
void resume(ngx_http_request_t* r) noexcept {
    Decision* decision = Decision::find(r);
    ngx_event_t* write = r->connection->write;
    const bool timer_fired = write->timedout != 0;
    write->timedout = 0;
    if (decision != nullptr && !decision->settled()) {
        if (!timer_fired) {
            return;
        }
        const auto waits = guarded(r->connection->log, std::optional<bool>(),
                                   [&] { return std::optional(waits_on(r, *decision)); });
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

/// Lets the request wait, and be ended with 499 if its client leaves; as ngx_http_limit_req_handler
/// does. It waits for several commands in turn: the timeout of `tollgate_redis` holds for them all.
ngx_int_t wait(ngx_http_request_t* r, Decision& decision) {
    ngx_event_t* read = r->connection->read;
    if (read->ready != 0) {
        ngx_post_event(read, &ngx_posted_events);
    } else if (ngx_handle_read_event(read, 0) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = resume;
    const auto timeout = decision.conf().tables->redis->endpoint.timeout;
    decision.patience() = Patience(Patience::Clock::now(), timeout);
    ngx_add_timer(r->connection->write, static_cast<ngx_msec_t>(timeout.count()));
    return NGX_AGAIN;
}

ngx_int_t decide(ngx_http_request_t* r, const LocationConf& conf) {
    Decision& decision = Decision::make(r, conf);
    if (ngx_http_test_predicates(r, conf.bypass) == NGX_OK) {
        decision.start();
    } else {
        decision.bypass();
    }
    strip_request_fields(r, conf.forward_authorization != 0);
    decision.note_stripped(conf.forward_authorization != 0);
    return decision.settled() ? answer(decision) : wait(r, decision);
}

/// The request comes again by an internal redirect or an error page. It was decided and counted
/// before, but for one that was let through without a key that was counted (bypassed, or refused in
/// a dry run): that was said of another location than this.
ngx_int_t decide_again(ngx_http_request_t* r, const LocationConf& conf, const Decision& before) {
    if (before.refuses()) {
        return NGX_OK;  // It is on its way to the operator's error page.
    }
    if (!before.grants()) {
        return decide(r, conf);
    }
    // Granted and counted: but a key has no more places for that than its plan gives it, the
    // operator's error pages left aside.
    if (r->err_status >= NGX_HTTP_BAD_REQUEST || before.has_place_in(*conf.tables)) {
        return NGX_OK;
    }
    Decision& decision = Decision::make(r, conf);
    decision.forbid();
    return answer(decision);
}

}  // namespace

ngx_int_t handle_access(ngx_http_request_t* r) noexcept {
    const LocationConf& conf = LocationConf::of(r);
    if (conf.tables == nullptr) {
        return NGX_DECLINED;
    }
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR), [&] {
        const Decision* decision = Decision::find(r);
        if (decision == nullptr) {
            return decide(r, conf);
        }
        if (ngx_http_get_module_ctx(r, ngx_http_tollgate_module) == nullptr) {
            return decide_again(r, conf, *decision);
        }
        return decision->settled() ? answer(*decision) : static_cast<ngx_int_t>(NGX_AGAIN);
    });
}

}  // namespace tollgate::http
