#include "backend/http/database_task.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace petstore {

void Batch::add(Job job, ngx_http_request_t* r) {
    requests.push_back(r);
    try {
        jobs.push_back(std::move(job));
    } catch (...) {
        requests.pop_back();
        throw;
    }
}

void Batch::clear() noexcept {
    jobs.clear();
    requests.clear();
}

DatabaseTask::DatabaseTask(std::string path, PetDatabase::Access access, ngx_thread_pool_t* pool,
                           DoneHandler on_done)
    : runner_(std::move(path), access), pool_(pool), on_done_(std::move(on_done)) {
    task_.ctx = this;
    task_.handler = run_in_thread;
    task_.event.data = this;
    task_.event.handler = finish_in_event_loop;
}

Batch DatabaseTask::run_now(Batch& batch) {
    const auto count = static_cast<std::ptrdiff_t>(runner_.run_without_waiting(batch.jobs));
    Batch done;
    if (count == static_cast<std::ptrdiff_t>(batch.jobs.size())) {
        std::swap(done, batch);
    } else if (count > 0) {
        const auto jobs = batch.jobs.begin();
        const auto requests = batch.requests.begin();
        done.requests.assign(requests, requests + count);
        done.jobs.reserve(static_cast<std::size_t>(count));
        std::move(jobs, jobs + count, std::back_inserter(done.jobs));
        batch.jobs.erase(jobs, jobs + count);
        batch.requests.erase(requests, requests + count);
    }
    return done;
}

bool DatabaseTask::post(Batch& batch) {
    std::swap(batch_, batch);
    if (ngx_thread_task_post(pool_, &task_) == NGX_OK) {
        return true;
    }
    std::swap(batch_, batch);
    return false;
}

/// nginx's requests, pools and logs are not thread-safe: the thread uses none of them.
void DatabaseTask::run_in_thread(void* data, ngx_log_t* /*log*/) noexcept {
    auto& task = *static_cast<DatabaseTask*>(data);
    task.error_ = task.runner_.run(task.batch_.jobs);
}

void DatabaseTask::finish_in_event_loop(ngx_event_t* event) noexcept {
    auto& task = *static_cast<DatabaseTask*>(event->data);
    guarded(ngx_cycle->log, false, [&] {
        task.log_error();
        return true;
    });
    task.on_done_(std::exchange(task.batch_, {}));
}

/// Logs an error when it begins, changes or ends, and not for each batch.
void DatabaseTask::log_error() {
    if (error_ == logged_error_) {
        return;
    }
    if (error_.empty()) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "petstore: \"%s\": the database is available again", path().c_str());
    } else {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "petstore: %s", error_.c_str());
    }
    logged_error_ = error_;
}

}  // namespace petstore
