#pragma once

#include <cstddef>
#include <string>

#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

struct LocationConf;

/// What `tollgate_admin` says: the Redis whose keys it manages, and where the paths begin.
struct AdminConf {
    std::string redis_name;
    std::string base;       ///< the URI up to the path of a resource: the location's name
    std::size_t redis = 0;  ///< in MainConf::redis; set by find_admin_mistake
};

/// Reads `tollgate_admin REDIS`.
char* read_admin(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Why a location must not serve the keys: its requests may pass without a key that has a scope.
/// Empty if it may. Resolves the name of the Redis.
std::string_view find_admin_mistake(ngx_conf_t* cf, const LocationConf& conf);

}  // namespace tollgate::http
