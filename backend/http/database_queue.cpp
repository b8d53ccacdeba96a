#include "backend/http/database_queue.hpp"

#include <utility>

#include "backend/http/response_output.hpp"

namespace petstore {
namespace {

/// In milliseconds: as long as ngx_http_copy_filter_module of nginx 1.25.4 waits for its tasks.
constexpr ngx_msec_t kHoldTime = 60000;

/// The maximum of ngx_http_request_t.blocked, a bit field. Each subrequest that waits counts.
constexpr unsigned kMaxBlocked = 255;

ngx_int_t send_result(ngx_http_request_t* r, std::optional<Response>& response) noexcept {
    return guarded<ngx_int_t>(r->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR,
                              [&]() -> ngx_int_t {
                                  return response ? send_response(r, std::move(*response))
                                                  : NGX_HTTP_INTERNAL_SERVER_ERROR;
                              });
}

/// Resumes a request as ngx_http_copy_thread_event_handler() does. If nginx has terminated the
/// request meanwhile, it has set another write event handler, which frees the request.
void resume(ngx_http_request_t* r, std::optional<Response>& response) {
    ngx_connection_t* const c = r->connection;
    ngx_http_set_log_request(c->log, r);
    r->main->blocked--;
    if (r->write_event_handler == ngx_http_request_empty_handler) {
        ngx_http_finalize_request(r, send_result(r, response));
    } else {
        r->write_event_handler(r);
    }
    ngx_http_run_posted_requests(c);
}

}  // namespace

DatabaseQueue::DatabaseQueue(const std::string& path, PetDatabase::Access access,
                             ngx_thread_pool_t* pool)
    : task_(path, access, pool, [this](Batch batch) { finish_batch(std::move(batch)); }) {
    start_event_.data = this;
    start_event_.handler = [](ngx_event_t* event) noexcept {
        static_cast<DatabaseQueue*>(event->data)->start_batch();
    };
    // With debug logging, nginx reads the file descriptor of a timer's connection.
    hold_timer_connection_.fd = static_cast<ngx_socket_t>(-1);
    hold_timer_connection_.data = this;
    hold_timer_.data = &hold_timer_connection_;
    hold_timer_.handler = [](ngx_event_t* event) noexcept {
        auto* const connection = static_cast<ngx_connection_t*>(event->data);
        static_cast<DatabaseQueue*>(connection->data)->on_hold_timer();
    };
}

void DatabaseQueue::push(ngx_http_request_t* r, Operation operation) {
    if (r->main->blocked == kMaxBlocked) {
        throw RequestError(kDatabaseUnavailable, "Too many parts of this request wait for pets.");
    }
    waiting_.add({std::move(operation), {}}, r);
    r->main->blocked++;
    if (pending_++ == 0) {
        hold_timer_.log = ngx_cycle->log;
        ngx_add_timer(&hold_timer_, kHoldTime);
    }
    post_start(ngx_posted_events);  // at the end of this turn: it has all requests of the turn
}

void DatabaseQueue::open_database() {
    Batch no_jobs;
    task_.post(no_jobs);
}

/// Starts the next batch when nginx runs the events of `queue`.
void DatabaseQueue::post_start(ngx_queue_t& queue) {
    start_event_.log = ngx_cycle->log;
    ngx_post_event(&start_event_, &queue);
}

/// A batch that needs no thread only in part leaves the rest to the next turn: a change of threads
/// is more expensive, and other events come in between.
void DatabaseQueue::start_batch() {
    if (waiting_.jobs.empty() || !task_.is_idle()) {
        return;
    }
    Batch done = guarded(ngx_cycle->log, Batch{}, [&] { return task_.run_now(waiting_); });
    if (!done.requests.empty()) {
        finish_batch(std::move(done));
    } else if (!task_.post(waiting_)) {
        fail_jobs(waiting_.jobs, kDatabaseUnavailable);
        finish_batch(std::exchange(waiting_, {}));
    }
}

void DatabaseQueue::finish_batch(Batch batch) {
    for (std::size_t i = 0; i < batch.requests.size(); ++i) {
        if (!batch.jobs[i].is_unfinished ||
            !push_again(std::move(batch.jobs[i]), batch.requests[i])) {
            --pending_;
            resume(batch.requests[i], batch.jobs[i].response);
        }
    }
    if (pending_ == 0 && hold_timer_.timer_set) {
        ngx_del_timer(&hold_timer_);
    }
    batch.clear();
    if (waiting_.jobs.empty()) {
        std::swap(waiting_, batch);  // the next batch needs no new memory
    }
    post_start(ngx_posted_next_events);
}

/// Queues an unfinished job again. False if nginx has terminated the request, or if there is no
/// memory.
bool DatabaseQueue::push_again(Job job, ngx_http_request_t* r) noexcept {
    if (r->write_event_handler != ngx_http_request_empty_handler) {
        return false;
    }
    return guarded(r->connection->log, false, [&] {
        waiting_.add(std::move(job), r);
        return true;
    });
}

/// A worker that exits waits for timers, but not for threads. The timer holds it until no request
/// is pending.
void DatabaseQueue::on_hold_timer() {
    if (pending_ > 0) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "petstore: \"%s\": %uz requests wait for the database; look for a slow disk, "
                      "or for a program that locks the database",
                      task_.path().c_str(), pending_);
        ngx_add_timer(&hold_timer_, kHoldTime);
    }
}

}  // namespace petstore
