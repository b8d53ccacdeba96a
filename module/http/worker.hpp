#pragma once

#include <memory>
#include <span>
#include <vector>

#include "module/engine/table_set.hpp"
#include "module/engine/worker_place.hpp"
#include "module/http/hour_recorder.hpp"
#include "module/http/http_block.hpp"
#include "module/http/management/admin_tasks.hpp"
#include "module/http/nginx.hpp"
#include "module/http/nginx_environment.hpp"
#include "module/http/redis/redis_client.hpp"

namespace tollgate::http {

/// What a worker builds for itself from the configuration: a client for each Redis, and the table
/// sets with their caches and statistics.
class Worker {
  public:
    /// Begins to connect. The configuration and the memory must outlive it. `sessions` is nullptr
    /// if no Redis has TLS. Throws std::bad_alloc.
    Worker(const MainConf& conf, SharedMemory& memory, TlsSessionZone* sessions, ngx_log_t* log);
    /// Closes the connections. Requests and calls may be under way; they end with the process.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// The worker that runs this request.
    static Worker& of(ngx_http_request_t* r) { return *HttpBlock::of(r).worker; }

    Zone& zone() const { return zone_; }
    engine::TableSet& tables(const TableSetConf& conf) { return *sets_[conf.index]; }
    /// The client of the set's Redis.
    RedisClient& client(const TableSetConf& conf) { return *set_clients_[conf.index]; }
    /// The clients, in the order of MainConf::redis.
    std::span<const std::unique_ptr<RedisClient>> clients() const { return clients_; }
    AdminTasks& admin_tasks() { return admin_tasks_; }

  private:
    void shut_down() noexcept;

    Zone& zone_;
    NginxClock clock_;
    NginxLog log_;
    NginxEventLoop events_;
    NginxWorker process_;
    HourRecorder hour_;
    std::vector<ServedTable> served_;
    engine::WorkerPlace place_;
    std::vector<std::unique_ptr<RedisClient>> clients_;
    std::vector<std::unique_ptr<engine::TableSet>> sets_;  ///< by TableSetConf::index
    std::vector<RedisClient*> set_clients_;                ///< by TableSetConf::index
    AdminTasks admin_tasks_;                               ///< uses the clients
    ShutdownNotice shutdown_;
};

}  // namespace tollgate::http
