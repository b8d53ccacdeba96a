#pragma once

#include <functional>
#include <list>

#include "module/http/redis_transport.hpp"
#include "module/management/admin/admin_api.hpp"

namespace tollgate::http {

/// The requests of tollgate_admin that a worker handles. An operation that has begun goes on to its
/// end when its client closes the connection: a key that must end ends.
class AdminTasks {
  public:
    using Answered = std::function<void(management::AdminResponse)>;

    AdminTasks();
    /// Operations under way stop between two steps.
    ~AdminTasks();
    AdminTasks(const AdminTasks&) = delete;
    AdminTasks& operator=(const AdminTasks&) = delete;

    /// Handles a request over a transport, which must live as long as the worker. Calls `answered`
    /// once, before this returns or later. It must not throw. Throws std::bad_alloc.
    void start(RedisTransport& transport, management::AdminRequest request, Answered answered);

  private:
    struct Running;

    std::list<Running> running_;
};

}  // namespace tollgate::http
