#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "module/redis/io/name_resolution.hpp"
#include "module/redis/io/server_addresses.hpp"
#include "module/redis/io/tls_context.hpp"

namespace tollgate::redis {

/// How a Redis is reached; created when the configuration is read.
struct Endpoint {
    std::string name;                 ///< of `tollgate_redis`, for the log
    std::vector<Server> servers;      ///< of `server`, tried in turn, or of `cluster`
    Resolver resolver;                ///< of the servers whose names are resolved at run time
    std::unique_ptr<TlsContext> tls;  ///< nullptr: without TLS
    std::string username;
    std::string password;  ///< empty: no AUTH
    int database = 0;      ///< 0: no SELECT
    std::chrono::milliseconds connect_timeout{1000};
    std::chrono::milliseconds timeout{100};  ///< of one command, until its reply
};

}  // namespace tollgate::redis
