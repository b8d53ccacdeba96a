#include "module/http/request/outcome_wait.hpp"

#include <optional>

#include "module/http/worker.hpp"
#include "module/process/deadline.hpp"

namespace tollgate::http {

namespace {

/// Why a request waits. The pool of the request owns it.
struct OutcomeWait : nginx::Recycled {
    OutcomeWait(RequestContext& waiting, ngx_http_event_handler_pt next, const Deadline& until)
        : context(waiting), resume(next), deadline(until) {}

    RequestContext& context;
    ngx_http_event_handler_pt resume;
    Deadline deadline;
};

/// Whether the request can go on.
bool is_over(const RequestContext& context) {
    return context.outcome().is_decided() || context.needs_body();
}

/// Whether the request keeps waiting after its timer has fired. If not, this decides it.
bool continues(ngx_http_request_t* r, OutcomeWait& wait) {
    // Replies may have come while the event loop stalled.
    Worker::of(r).client(*wait.context.conf().tables).poll();
    if (is_over(wait.context)) {
        return true;  // It has posted an event.
    }
    if (const auto rest = wait.deadline.rest(Deadline::Clock::now())) {
        ngx_add_timer(r->connection->write, static_cast<ngx_msec_t>(rest->count()));
        return true;
    }
    wait.context.time_out();
    return false;
}

/// Handles events of the connection's write side while the request waits.
void on_write_event(ngx_http_request_t* r) noexcept {
    auto& wait = *find_pooled<OutcomeWait>(r->pool);
    const bool is_late = take_timeout(r);
    if (!is_over(wait.context)) {
        if (!is_late) {
            return;
        }
        const auto waits = guarded(r->connection->log, std::optional<bool>(),
                                   [&] { return std::optional(continues(r, wait)); });
        if (!waits) {
            ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
            return;
        }
        if (*waits) {
            return;
        }
    }
    end_wait(r);
    r->write_event_handler = wait.resume;
    wait.resume(r);
}

}  // namespace

ngx_int_t suspend(ngx_http_request_t* r, ngx_http_event_handler_pt on_event, ngx_msec_t time) {
    ngx_event_t* read = r->connection->read;
    if (read->ready != 0) {
        ngx_post_event(read, &ngx_posted_events);
    } else if (ngx_handle_read_event(read, 0) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = on_event;
    ngx_add_timer(r->connection->write, time);
    return NGX_AGAIN;
}

bool take_timeout(ngx_http_request_t* r) noexcept {
    const bool is_over = r->connection->write->timedout != 0;
    r->connection->write->timedout = 0;
    return is_over;
}

void end_wait(ngx_http_request_t* r) noexcept {
    if (r->connection->write->timer_set != 0) {
        ngx_del_timer(r->connection->write);
    }
    r->read_event_handler = ngx_http_block_reading;
}

ngx_int_t wait_for_outcome(ngx_http_request_t* r, RequestContext& context,
                           ngx_http_event_handler_pt resume) {
    const auto timeout = Worker::of(r).client(*context.conf().tables).timeout();
    make_pooled<OutcomeWait>(r->pool, context, resume, Deadline(Deadline::Clock::now(), timeout));
    return suspend(r, on_write_event, static_cast<ngx_msec_t>(timeout.count()));
}

}  // namespace tollgate::http
