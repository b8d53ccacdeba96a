#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/http/nginx.hpp"
#include "backend/storage/job_runner.hpp"

namespace petstore {

/// Jobs that run together, and the requests that wait for them: requests[i] waits for jobs[i].
struct Batch {
    /// Throws std::bad_alloc; the batch is then unchanged.
    void add(Job job, ngx_http_request_t* r);
    /// Keeps the memory.
    void clear() noexcept;

    std::vector<Job> jobs;
    std::vector<ngx_http_request_t*> requests;
};

/// A task of an nginx thread pool that runs a batch of jobs on a database connection. All members
/// are for the event loop. The object must outlive the threads of the worker: keep it in the
/// cycle's pool.
class DatabaseTask {
  public:
    /// Takes the batch when its jobs have run. The task is idle again, and may be posted.
    using DoneHandler = std::function<void(Batch)>;

    /// `path` is the database file.
    DatabaseTask(std::string path, PetDatabase::Access access, ngx_thread_pool_t* pool,
                 DoneHandler on_done);
    ~DatabaseTask() = default;
    DatabaseTask(const DatabaseTask&) = delete;
    DatabaseTask& operator=(const DatabaseTask&) = delete;

    const std::string& path() const { return runner_.path(); }
    bool is_idle() const { return task_.event.active == 0; }

    /// Runs those of the first jobs that need no thread, and moves them out of the batch. The task
    /// must be idle. Throws std::bad_alloc; the batch then still has all jobs.
    Batch run_now(Batch& batch);

    /// Posts the task to the pool, and takes the batch. The task must be idle. Returns false, and
    /// leaves the batch to the caller, if the pool's queue is full.
    bool post(Batch& batch);

  private:
    static void run_in_thread(void* data, ngx_log_t* log) noexcept;
    static void finish_in_event_loop(ngx_event_t* event) noexcept;
    void log_error();

    JobRunner runner_;
    ngx_thread_pool_t* pool_;
    DoneHandler on_done_;
    ngx_thread_task_t task_{};
    Batch batch_;
    std::string error_;         ///< of the last run; empty on success
    std::string logged_error_;  ///< the last one in the log; empty after a recovery
};

}  // namespace petstore
