#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>

#include "module/http/redis_transport.hpp"
#include "module/management/admin/admin_api.hpp"

namespace tollgate::http {

/// The requests of tollgate_admin that a worker handles, a few at a time: an operation opens
/// connections of its own to Redis, and nginx has a limited number of them. An operation that has
/// begun goes on to its end when its client closes the connection: a key that must end ends.
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
    struct Waiting {
        RedisTransport& transport;
        management::AdminRequest request;
        Answered answered;
    };

    management::Task<void> run(Running& running, Waiting begun);
    void begin(Waiting waiting);
    void begin_waiting() noexcept;

    std::list<Running> running_;
    std::size_t under_way_ = 0;    ///< of running_, which also has some that are done
    std::deque<Waiting> waiting_;  ///< until one that is under way ends
    std::unique_ptr<gateway::Timer> next_;
};

}  // namespace tollgate::http
