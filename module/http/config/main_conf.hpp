#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "module/http/nginx.hpp"
#include "module/quota/plan.hpp"
#include "module/quota/plan_quotas.hpp"
#include "module/redis/io/endpoint.hpp"
#include "module/redis/protocol/keys.hpp"
#include "module/report/statistics.hpp"

namespace tollgate::http {

/// Where in the configuration something stands, for messages about it that come later.
struct Position {
    std::string file;
    ngx_uint_t line = 0;

    static Position of(const ngx_conf_t* cf);
};

/// What to do with known keys while Redis is out of reach.
enum class FailurePolicy {
    kLocal,  ///< count on in shared memory
    kAllow,  ///< let them pass
    kDeny,   ///< refuse them
};

class RedisClient;
struct ZoneView;

/// A `tollgate_redis` block.
struct RedisConf {
    redis::Endpoint endpoint;
    redis::Keys keys{""};
    FailurePolicy on_failure = FailurePolicy::kLocal;
    std::chrono::milliseconds key_cache = std::chrono::minutes(1);
    std::chrono::milliseconds stale_keys = std::chrono::hours(1);
    std::uint32_t name_hash = 0;          ///< see name_hash
    std::unique_ptr<RedisClient> client;  ///< the worker's; there while it runs
    std::unique_ptr<RedisStatistics> uncounted = std::make_unique<RedisStatistics>();
    RedisStatistics* statistics = uncounted.get();  ///< in the zone, once a worker has started

    RedisConf();
    ~RedisConf();
    RedisConf(const RedisConf&) = delete;
    RedisConf& operator=(const RedisConf&) = delete;
};

/// A `tollgate_plans` block.
struct TableConf {
    PlanTable table;
    std::string redis_name;  ///< as `redis=` has it; empty where it was left out
    Position position;
    RedisConf* redis = nullptr;  ///< resolved when all is read
};

/// The plan tables that a `tollgate` directive names. All have the same Redis.
struct TableSet {
    std::vector<std::string> names;
    Position position;
    std::vector<const PlanTable*> tables;  ///< at least one; resolved when all is read
    RedisConf* redis = nullptr;            ///< resolved when all is read
    std::optional<BanPolicy> ban;          ///< of the first table that has one
    std::optional<PlanQuotas> choices;     ///< made when all is read

    /// Where to count the requests of each plan of the first table, and those of no plan; in the
    /// zone, once a worker has started.
    std::vector<RequestStatistics*> statistics;

    /// Where to count the requests of keys with this plan, as their records have it; nullptr until
    /// a worker has started.
    RequestStatistics* statistics_of(std::string_view plan) const;

    /// The first table that has a budget for failed authentications; nullptr for none.
    const PlanTable* anonymous() const;
};

/// A place where `tollgate` guards every request: a location, or a server that has none.
struct GuardedPlace {
    void** loc_conf;  ///< what each module has for it; merged when all is read
    const TableSet* set;
};

/// What stands in the http block.
struct MainConf {
    std::vector<std::unique_ptr<RedisConf>> redis;
    std::vector<std::unique_ptr<TableConf>> tables;
    std::vector<std::unique_ptr<TableSet>> sets;
    std::size_t zone_size = 0;  ///< as `tollgate_zone` has it; 0 where it was left out
    ngx_shm_zone_t* zone = nullptr;
    std::unique_ptr<ZoneView> zone_view;        ///< there once the zone is
    std::vector<GuardedPlace> guarded;          ///< without those with a dry run or a bypass
    std::vector<ngx_log_t*> error_logs;         ///< of all locations, each once
    ngx_int_t authorization_index = NGX_ERROR;  ///< of the variable $http_authorization

    static MainConf& of(ngx_conf_t* cf);
    static MainConf& of(ngx_http_request_t* r);
    MainConf();
    ~MainConf();
    MainConf(const MainConf&) = delete;
    MainConf& operator=(const MainConf&) = delete;

    /// nullptr where there is no http block.
    static MainConf* of(ngx_cycle_t* cycle);

    /// Finds the tables and the Redis that are named, wherever they stand. False after a message of
    /// what is missing.
    bool resolve(ngx_conf_t* cf);
};

/// nginx's create_main_conf.
void* create_main_conf(ngx_conf_t* cf) noexcept;

/// Logs what is wrong in the configuration, with file and line, as nginx's own messages.
void log_conf_error(ngx_conf_t* cf, std::string_view message);
void log_conf_error(ngx_conf_t* cf, const Position& position, std::string_view message);
/// Logs what is probably a mistake: nginx goes on.
void log_conf_warning(ngx_conf_t* cf, const Position& position, std::string_view message);

}  // namespace tollgate::http
