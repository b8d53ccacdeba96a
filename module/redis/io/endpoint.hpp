#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
}

#include <chrono>
#include <string>
#include <vector>

namespace tollgate::redis {

/// The addresses and credentials of a Redis; created when the configuration is read.
struct Endpoint {
    std::string name;               ///< of `tollgate_redis`, for the log
    std::vector<ngx_addr_t> addrs;  ///< at least one, tried in turn; in memory of the cycle's pool
    std::string username;
    std::string password;  ///< empty: no AUTH
    int database = 0;      ///< 0: no SELECT
    std::chrono::milliseconds connect_timeout{1000};
    std::chrono::milliseconds timeout{100};  ///< of one command, until its reply
};

}  // namespace tollgate::redis
