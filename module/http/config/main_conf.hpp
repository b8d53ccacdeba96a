#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "module/gateway/settings.hpp"
#include "module/http/nginx.hpp"
#include "module/quota/plan.hpp"
#include "module/redis/io/endpoint.hpp"

namespace tollgate::http {

/// The place of a directive in the configuration, for later messages about it.
struct Position {
    std::string file;
    ngx_uint_t line = 0;

    static Position of(const ngx_conf_t* cf);
};

/// A `tollgate_redis` block.
struct RedisConf {
    redis::Endpoint endpoint;
    gateway::RedisSettings settings;
    Position server_position;  ///< of `server`
};

/// A `tollgate_plans` block.
struct TableConf {
    PlanTable table;
    std::string redis_name;  ///< as in `redis=`; empty if that is missing
    Position position;
    const RedisConf* redis = nullptr;  ///< set when all is read
};

/// The plan tables that a `tollgate` directive names. All have the same Redis.
struct TableSetConf {
    std::vector<std::string> names;
    Position position;
    std::size_t index = 0;                 ///< in MainConf::sets
    std::vector<const PlanTable*> tables;  ///< at least one; set when all is read
    const RedisConf* redis = nullptr;      ///< set when all is read
    std::optional<BanPolicy> ban;          ///< of the first table that has one
};

/// A place where `tollgate` guards every request: a location, or a server that has none.
struct GuardedPlace {
    void** loc_conf;  ///< what each module has for it; merged when all is read
    const TableSetConf* set;
};

/// The configuration of the http block. It does not change once it is read.
struct MainConf {
    std::vector<std::unique_ptr<RedisConf>> redis;
    std::vector<std::unique_ptr<TableConf>> tables;
    std::vector<std::unique_ptr<TableSetConf>> sets;
    std::size_t zone_size = 0;  ///< as `tollgate_zone` has it; 0 where it was left out
    ngx_shm_zone_t* zone = nullptr;
    std::vector<GuardedPlace> guarded;          ///< without those with a dry run or a bypass
    std::vector<ngx_log_t*> error_logs;         ///< of all locations, each once
    ngx_int_t authorization_index = NGX_ERROR;  ///< of the variable $http_authorization

    MainConf() = default;
    ~MainConf() = default;
    MainConf(const MainConf&) = delete;
    MainConf& operator=(const MainConf&) = delete;

    static MainConf& of(ngx_conf_t* cf);
    static const MainConf& of(ngx_http_request_t* r);

    /// Finds the tables and the Redis that are named, wherever they stand. False after a message of
    /// what is missing.
    bool resolve(ngx_conf_t* cf);
};

/// Logs what is wrong in the configuration, with file and line, as nginx's own messages.
void log_conf_error(ngx_conf_t* cf, std::string_view message);
void log_conf_error(ngx_conf_t* cf, const Position& position, std::string_view message);
/// Logs what is probably a mistake: nginx goes on.
void log_conf_warning(ngx_conf_t* cf, const Position& position, std::string_view message);

}  // namespace tollgate::http
