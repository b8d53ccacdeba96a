#pragma once

#include <cstddef>
#include <string>

#include "backend/http/database_task.hpp"
#include "backend/http/nginx.hpp"

namespace petstore {

/// The requests of a worker that wait for a database. Those of one turn of the event loop are a
/// batch, and so are those that arrive while a batch runs in a thread. A batch is one transaction:
/// many writes share one sync of the disk. Reads that need no disk and no lock run in the event
/// loop, the others in a thread. All members are for the event loop.
class DatabaseQueue {
  public:
    /// `path` is the database file. `pool` runs the batches.
    DatabaseQueue(const std::string& path, PetDatabase::Access access, ngx_thread_pool_t* pool);
    ~DatabaseQueue() = default;
    DatabaseQueue(const DatabaseQueue&) = delete;
    DatabaseQueue& operator=(const DatabaseQueue&) = delete;

    /// Adds an operation. Its response is sent and the request is finalized when it has run, so the
    /// caller must hold a reference (r->main->count). Throws std::bad_alloc, and RequestError if
    /// too many subrequests of one request wait; the request is then not in the queue.
    void push(ngx_http_request_t* r, Operation operation);

    /// Opens the database in a worker that starts, so that an error is in the log before the first
    /// request.
    void open_database();

  private:
    void post_start(ngx_queue_t& queue);
    void start_batch();
    void finish_batch(Batch batch);
    bool push_again(Job job, ngx_http_request_t* r) noexcept;
    void on_hold_timer();

    Batch waiting_;
    std::size_t pending_ = 0;  ///< requests in waiting_ and in the task
    DatabaseTask task_;
    ngx_event_t start_event_{};
    ngx_event_t hold_timer_{};  ///< runs while requests are pending
    ngx_connection_t hold_timer_connection_{};
};

}  // namespace petstore
