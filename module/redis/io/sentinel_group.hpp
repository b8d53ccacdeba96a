#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "module/redis/io/address_list.hpp"
#include "module/redis/io/endpoint.hpp"

namespace tollgate::redis {

/// `sentinel` of a `tollgate_redis`; created when the configuration is read.
struct SentinelGroup {
    std::string master_name;
    std::vector<SocketAddress> sentinels;  ///< at least one, each once
    Endpoint endpoint;       ///< user, password and TLS of the Sentinels; no addresses
    std::uint32_t hash = 0;  ///< of the two names and the Sentinels: see SharedMaster::address
};

}  // namespace tollgate::redis
