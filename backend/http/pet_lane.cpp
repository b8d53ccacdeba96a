#include "backend/http/pet_lane.hpp"

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

PetLane::PetLane(std::string path, PetDatabase::Access access, ngx_thread_pool_t* pool,
                 Completion completion)
    : session_(std::move(path), access), pool_(pool), completion_(std::move(completion)) {
    task_.ctx = this;
    task_.handler = in_thread;
    task_.event.data = this;
    task_.event.handler = in_event_loop;
}

bool PetLane::start(Batch& batch) {
    std::swap(batch_, batch);
    if (ngx_thread_task_post(pool_, &task_) == NGX_OK) {
        return true;
    }
    std::swap(batch_, batch);
    return false;
}

/// Nothing of nginx may be touched here: neither requests nor pools nor logs.
void PetLane::in_thread(void* data, ngx_log_t* /*log*/) noexcept {
    auto& lane = *static_cast<PetLane*>(data);
    lane.problem_ = lane.session_.serve(lane.batch_.jobs);
}

void PetLane::in_event_loop(ngx_event_t* event) noexcept {
    auto& lane = *static_cast<PetLane*>(event->data);
    guarded(false, [&] {
        lane.report();
        return true;
    });
    lane.completion_(std::exchange(lane.batch_, {}));
}

/// A problem is logged when it appears, changes or goes, and not with each of a thousand requests.
void PetLane::report() {
    if (problem_ == reported_) {
        return;
    }
    if (problem_.empty()) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0, "petstore: the database is back");
    } else {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "petstore: %s", problem_.c_str());
    }
    reported_ = problem_;
}

}  // namespace petstore
