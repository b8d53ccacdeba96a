#pragma once

#include "module/cli/redis/redis_url.hpp"
#include "module/redis/topology/presence.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::cli {

/// Asks all Sentinels of the URL whether this server is still the master. While one of them
/// promotes a replica, asks again for kPatience. The presence is known then.
redis::SentinelAgreement ask_all_sentinels(const RedisUrl& url, const redis::ServerAddress& master);

}  // namespace tollgate::cli
