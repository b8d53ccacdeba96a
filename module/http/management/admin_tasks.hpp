#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "module/http/management/operation_turns.hpp"
#include "module/http/redis_client.hpp"
#include "module/management/admin/admin_api.hpp"

namespace tollgate::http {

/// Who made a request of tollgate_admin.
class AdminClient {
  public:
    AdminClient() = default;
    AdminClient(const AdminClient&) = delete;
    AdminClient& operator=(const AdminClient&) = delete;
    virtual ~AdminClient() = default;

    /// Whether it still waits for the response.
    virtual bool is_waiting() const noexcept = 0;
    virtual void on_response(management::AdminResponse response) noexcept = 0;
};

/// The requests of tollgate_admin that a worker handles, a few at a time: an operation takes memory
/// and opens connections to Redis, and nginx has a limited number of them. Further requests wait.
/// If too many wait, the response is 429. Changes do not wait for reads, and have turns of their
/// own. An operation that has begun goes on to its end when its client closes the connection: a key
/// that must end ends.
class AdminTasks {
  public:
    explicit AdminTasks(ngx_log_t* log);
    /// Operations under way stop between two steps.
    ~AdminTasks();
    AdminTasks(const AdminTasks&) = delete;
    AdminTasks& operator=(const AdminTasks&) = delete;

    /// Handles a request over a transport, which must live as long as the worker. `arrival` is
    /// that of the complete request. The client receives one response, before this returns or
    /// later; none if it does not wait any more when its turn comes. Throws std::bad_alloc.
    void start(RedisClient& transport, management::AdminRequest request, SteadyTime arrival,
               std::shared_ptr<AdminClient> client);

    /// The worker has had a request that is none of these: see TurnPace.
    void note_request() noexcept { ++requests_; }
    /// See OperationTurns.
    void shut_down() noexcept;

  private:
    struct Running;
    struct Waiting {
        RedisClient& transport;
        management::AdminRequest request;
        SteadyTime arrival;
        std::shared_ptr<AdminClient> client;
    };

    /// Reads, or changes.
    struct Kind {
        OperationTurns turns;
        std::size_t under_way = 0;  ///< of running_, which also has some that are done
        std::list<Waiting> waiting{};
    };

    Kind& kind_of(const management::AdminRequest& request);
    bool may_begin(const Kind& kind) const;
    management::Task<void> run(Running& running, Waiting begun);
    void begin(Waiting waiting);
    void begin_waiting() noexcept;

    std::uint64_t requests_ = 0;
    Kind reads_;  ///< its turns use the count
    Kind changes_;
    std::list<Running> running_;  ///< uses the turns
    std::unique_ptr<gateway::Timer> next_;
};

}  // namespace tollgate::http
