#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "backend/core/pinned.hpp"
#include "backend/http/nginx.hpp"
#include "backend/storage/session.hpp"

namespace petstore {

/// Jobs that go to the database together, and the requests that wait for them: one for each, in the
/// same order.
struct Batch {
    void add(Job job, ngx_http_request_t* r);

    std::vector<Job> jobs;
    std::vector<ngx_http_request_t*> requests;
};

/// A database session that serves one batch at a time in a thread of nginx's pool. It is used, and
/// calls back, in the event loop; it must outlive the worker's threads, as what lives in the
/// cycle's pool does.
class PetLane : Pinned {
  public:
    /// Gets the batch back with its answers. Called with the lane idle again.
    using Completion = std::function<void(Batch)>;

    PetLane(std::string path, PetDatabase::Access access, ngx_thread_pool_t* pool,
            Completion completion);

    bool idle() const { return task_.event.active == 0; }

    /// Serves the batch; the lane must be idle. False if the pool has no room for it: the batch is
    /// as it was.
    bool start(Batch& batch);

  private:
    static void in_thread(void* data, ngx_log_t* log) noexcept;
    static void in_event_loop(ngx_event_t* event) noexcept;
    void report();

    Session session_;
    ngx_thread_pool_t* pool_;
    Completion completion_;
    ngx_thread_task_t task_{};
    Batch batch_;
    std::string problem_;   ///< what went wrong with the batch
    std::string reported_;  ///< the problem that stands in the log already
};

}  // namespace petstore
