#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "module/redis/io/name_resolution.hpp"
#include "module/redis/io/resolved_servers.hpp"
#include "module/redis/io/tls_context.hpp"

namespace tollgate::redis {

class TlsPeer;

/// How the links of a Redis, or of its Sentinels, reach their servers; created when the
/// configuration is read.
struct LinkConf {
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

/// What a link to a server uses.
struct Access {
    const LinkConf& conf;
    TlsPeer* tls;  ///< nullptr: without TLS
    ngx_log_t* log;
};

/// `sentinel` of a `tollgate_redis`; created when the configuration is read.
struct SentinelGroup {
    std::string master_name;
    LinkConf link;           ///< the Sentinels, at least one, with their user, password and TLS
    std::uint32_t hash = 0;  ///< of the two names and the Sentinels: see SharedMaster::address
};

}  // namespace tollgate::redis
