#pragma once

#include <cstddef>
#include <string>

#include "backend/core/pinned.hpp"
#include "backend/http/nginx.hpp"
#include "backend/http/pet_lane.hpp"

namespace petstore {

/// The requests of a worker that wait for a database. All that have come while a batch is served
/// are the next one, as one transaction: so many writes cost one sync of the disk, and many reads
/// one change of threads.
class PetQueue : Pinned {
  public:
    PetQueue(const std::string& path, PetDatabase::Access access, ngx_thread_pool_t* pool);

    /// Serves a request, which it answers and finalizes; the caller has counted a reference for
    /// that. Throws std::bad_alloc, and Refusal for too many subrequests of one request.
    void submit(ngx_http_request_t* r, Job job);

    /// Opens the database of the first lane in a worker that starts, so that what is wrong is in
    /// the log at once.
    void open();

  private:
    void schedule();
    void dispatch();
    void complete(Batch batch);
    bool wait_again(Job job, ngx_http_request_t* r) noexcept;
    void keep_worker();

    Batch waiting_;
    std::size_t unanswered_ = 0;
    PetLane lane_;
    ngx_event_t dispatch_{};
    ngx_event_t keeper_{};
    ngx_connection_t keeper_connection_{};
};

}  // namespace petstore
