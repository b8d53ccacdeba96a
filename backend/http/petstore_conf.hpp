#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backend/http/database_queue.hpp"
#include "backend/http/nginx.hpp"

namespace petstore {

/// The queues of one database file and one thread pool. All locations with both share them.
struct DatabaseQueues {
    DatabaseQueues(const std::string& path, ngx_thread_pool_t* pool)
        : path(path),
          pool(pool),
          reads(path, PetDatabase::Access::kRead, pool),
          writes(path, PetDatabase::Access::kWrite, pool) {}

    std::string path;
    ngx_thread_pool_t* pool;
    DatabaseQueue reads;
    DatabaseQueue writes;
};

/// The configuration of the http block.
struct MainConf {
    std::vector<std::unique_ptr<DatabaseQueues>> databases;

    /// The queues of this database and pool; makes them if there are none yet.
    DatabaseQueues& queues_for(const std::string& path, ngx_thread_pool_t* pool);

    static MainConf& of(ngx_conf_t* cf);
    /// nullptr if there is no http block.
    static MainConf* of(ngx_cycle_t* cycle);
};

/// The configuration of a server. Plain memory of nginx's pool.
struct ServerConf {
    bool has_petstore;  ///< one of its locations has a `petstore` directive

    static ServerConf& of(ngx_conf_t* cf);
    static const ServerConf& of(ngx_http_request_t* r);
};

/// The configuration of a location. Plain memory of nginx's pool.
struct LocationConf {
    DatabaseQueues* queues;   ///< nullptr: no `petstore` directive
    std::size_t base_length;  ///< of the decoded path before `/pets`, in bytes
    std::size_t max_body;     ///< of a request, in bytes

    static const LocationConf& of(ngx_http_request_t* r);
};

/// nginx's create_main_conf, create_srv_conf, create_loc_conf and merge_loc_conf.
void* create_main_conf(ngx_conf_t* cf) noexcept;
void* create_server_conf(ngx_conf_t* cf) noexcept;
void* create_location_conf(ngx_conf_t* cf) noexcept;
char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;

/// Reads `petstore PATH [threads=POOL]`.
char* read_petstore(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// The content handler of a location with `petstore`.
ngx_int_t handle_petstore(ngx_http_request_t* r) noexcept;

}  // namespace petstore
