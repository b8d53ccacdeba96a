#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>

#include "module/http/management/key_rights.hpp"
#include "module/http/management/operation_turns.hpp"
#include "module/http/redis/redis_client.hpp"
#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/caller_queue.hpp"

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
    /// The key of the request is not valid any more, or may not make it: nothing was executed.
    virtual void on_refusal(const engine::Outcome& outcome) noexcept = 0;
};

/// The requests of tollgate_admin that a worker handles, a few at a time: an operation takes memory
/// and opens connections to Redis, and nginx has a limited number of them. Further requests wait in
/// the CallerQueue of their lane. If too many wait, the response is 429. Lists have turns of their
/// own, so that they do not delay other requests. The rights of the caller are checked when the
/// request leaves the queue. A change that has begun goes on when its client closes the connection:
/// a key that must end ends. A read ends then.
class AdminTasks {
  public:
    explicit AdminTasks(ngx_log_t* log);
    /// Operations under way stop between two steps.
    ~AdminTasks();
    AdminTasks(const AdminTasks&) = delete;
    AdminTasks& operator=(const AdminTasks&) = delete;

    /// A request that was admitted once.
    struct Admitted {
        RedisClient& transport;  ///< must live as long as the worker
        management::AdminRequest request;
        KeyRights::Key key;
        SteadyTime arrival;  ///< of the complete request
    };
    /// Handles a request. The client receives one response or refusal, before this returns or
    /// later; none if it does not wait any more when its turn comes. Throws std::bad_alloc.
    void start(Admitted admitted, const std::shared_ptr<AdminClient>& client);

    /// The worker has had a request that is none of these: see TurnPace.
    void note_request() noexcept { ++requests_; }
    /// See OperationTurns.
    void shut_down() noexcept;

  private:
    struct Running;
    struct Waiting {
        Admitted admitted;
        std::shared_ptr<AdminClient> client;
    };
    using Queue = management::CallerQueue<Waiting>;

    struct Lane {
        Queue queue;
        OperationTurns& turns;
    };

    Lane& lane_of(const management::AdminRequest& request);
    management::Task<void> run(Running& running, Lane& lane, Waiting begun);
    void begin(Lane& lane, Waiting waiting);
    void begin_waiting() noexcept;

    std::uint64_t requests_ = 0;
    OperationTurns turns_of_lists_;  ///< uses the count
    OperationTurns turns_;           ///< of all others; uses the count, too
    std::array<Lane, management::kLanes> lanes_;
    std::list<Running> running_;  ///< uses the turns
    std::unique_ptr<Timer> next_;
};

}  // namespace tollgate::http
