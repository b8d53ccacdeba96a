#pragma once

#include <cstdint>
#include <string>

#include "module/redis/io/endpoint.hpp"

namespace tollgate::redis {

/// `sentinel` of a `tollgate_redis`; created when the configuration is read.
struct SentinelGroup {
    std::string master_name;
    Endpoint endpoint;       ///< the Sentinels, at least one, with their user, password and TLS
    std::uint32_t hash = 0;  ///< of the two names and the Sentinels: see SharedMaster::address
};

}  // namespace tollgate::redis
