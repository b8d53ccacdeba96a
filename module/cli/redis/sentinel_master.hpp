#pragma once

#include <memory>

#include "module/cli/redis/redis_connection.hpp"
#include "module/cli/redis/redis_url.hpp"

namespace tollgate::cli {

/// Asks the Sentinels of the URL for the master, and connects to it. Searches for kPatience, and
/// asks each Sentinel at least once. Throws LoginRefused if the master refuses the password, and
/// Failure with what each Sentinel and the last server answered if no server is the master.
std::unique_ptr<RedisConnection> connect_to_sentinel_master(const RedisUrl& url);

/// Connects to this server if it says that it is the master. Returns nullptr otherwise.
std::unique_ptr<RedisConnection> connect_if_master(const RedisUrl& url,
                                                   const redis::ServerAddress& address);

}  // namespace tollgate::cli
