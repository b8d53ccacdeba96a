#include "backend/http/pet_queue.hpp"

#include <utility>

#include "backend/http/pet_reply.hpp"

namespace petstore {
namespace {

/// As long as ngx_http_copy_filter_module waits for its tasks, from nginx 1.25.4 on.
constexpr ngx_msec_t kKeepInterval = 60000;

/// What fits into ngx_http_request_t.blocked: a page may include any number of pets as subrequests.
constexpr unsigned kMaxBlocked = 255;

ngx_int_t send_answer(ngx_http_request_t* r, const std::optional<Answer>& answer) noexcept {
    return guarded<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR, [&]() -> ngx_int_t {
        return answer ? send(r, *answer) : NGX_HTTP_INTERNAL_SERVER_ERROR;
    });
}

/// As ngx_http_copy_thread_event_handler(): a request that was terminated in the meantime has
/// another write handler now, which ends it.
void resume(ngx_http_request_t* r, const std::optional<Answer>& answer) {
    ngx_connection_t* const c = r->connection;
    ngx_http_set_log_request(c->log, r);
    r->main->blocked--;
    if (r->write_event_handler == ngx_http_request_empty_handler) {
        ngx_http_finalize_request(r, send_answer(r, answer));
    } else {
        r->write_event_handler(r);
    }
    ngx_http_run_posted_requests(c);
}

}  // namespace

PetQueue::PetQueue(const std::string& path, PetDatabase::Access access, ngx_thread_pool_t* pool)
    : lane_(path, access, pool, [this](Batch batch) { complete(std::move(batch)); }) {
    dispatch_.data = this;
    dispatch_.handler = [](ngx_event_t* event) noexcept {
        static_cast<PetQueue*>(event->data)->dispatch();
    };
    // A debugging log reads the descriptor of a timer's connection.
    keeper_connection_.fd = static_cast<ngx_socket_t>(-1);
    keeper_connection_.data = this;
    keeper_.data = &keeper_connection_;
    keeper_.handler = [](ngx_event_t* event) noexcept {
        auto* const connection = static_cast<ngx_connection_t*>(event->data);
        static_cast<PetQueue*>(connection->data)->keep_worker();
    };
}

void PetQueue::submit(ngx_http_request_t* r, Job job) {
    if (r->main->blocked == kMaxBlocked) {
        throw Refusal(kDatabaseUnavailable, "Too many parts of this request wait for pets.");
    }
    waiting_.add(std::move(job), r);
    r->main->blocked++;
    if (unanswered_++ == 0) {
        keeper_.log = ngx_cycle->log;
        ngx_add_timer(&keeper_, kKeepInterval);
    }
    schedule();
}

void PetQueue::open() {
    Batch nothing;
    lane_.start(nothing);
}

/// Not at once: all that comes until the next turn of the event loop goes together.
void PetQueue::schedule() {
    dispatch_.log = ngx_cycle->log;
    ngx_post_event(&dispatch_, &ngx_posted_next_events);
}

void PetQueue::dispatch() {
    if (!waiting_.jobs.empty() && lane_.idle() && !lane_.start(waiting_)) {
        refuse(waiting_.jobs, kDatabaseUnavailable);
        complete(std::exchange(waiting_, {}));
    }
}

void PetQueue::complete(Batch batch) {
    for (std::size_t i = 0; i < batch.requests.size(); ++i) {
        if (!batch.jobs[i].unfinished || !wait_again(std::move(batch.jobs[i]), batch.requests[i])) {
            --unanswered_;
            resume(batch.requests[i], batch.jobs[i].answer);
        }
    }
    if (unanswered_ == 0 && keeper_.timer_set) {
        ngx_del_timer(&keeper_);
    }
    schedule();
}

/// False if the request has been terminated, or if there is no memory.
bool PetQueue::wait_again(Job job, ngx_http_request_t* r) noexcept {
    if (r->write_event_handler != ngx_http_request_empty_handler) {
        return false;
    }
    return guarded(false, [&] {
        waiting_.add(std::move(job), r);
        return true;
    });
}

/// A worker that exits waits for timers, but not for threads.
void PetQueue::keep_worker() {
    if (unanswered_ > 0) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "petstore: %uz requests are waiting for the database", unanswered_);
        ngx_add_timer(&keeper_, kKeepInterval);
    }
}

}  // namespace petstore
