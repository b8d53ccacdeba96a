#pragma once

#include <optional>

#include "module/cli/redis/masters.hpp"
#include "module/cli/redis/redis_url.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::cli {

/// What all Sentinels together say of a server that was the master.
struct SentinelAgreement {
    Presence presence;
    std::optional<redis::ServerAddress> other = {};  ///< the master, if presence is kReplaced
};

/// Asks all Sentinels of the URL whether this server is still the master. While one of them
/// promotes a replica, asks again for kPatience.
SentinelAgreement ask_all_sentinels(const RedisUrl& url, const redis::ServerAddress& master);

}  // namespace tollgate::cli
