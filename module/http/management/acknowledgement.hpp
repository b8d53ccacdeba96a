#pragma once

#include <map>
#include <set>

#include "module/http/redis/redis_client.hpp"
#include "module/management/database.hpp"
#include "module/redis/io/socket_address.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::http {

/// A server that has executed calls.
struct UsedServer {
    redis::SocketAddresses addresses;
    std::set<redis::Slot> slots;  ///< of the calls
};
using UsedServers = std::map<redis::ServerAddress, UsedServer>;

/// Waits until a replica of each server has what was written before, and asks the deployment
/// whether these servers are still its masters: see Database::acknowledge(). Each question has a
/// link of its own, so that no request waits for it. `database` is for pauses. Both arguments must
/// outlive the task.
management::Task<management::Durability> acknowledge_changes(management::Database& database,
                                                             RedisClient& transport,
                                                             UsedServers used);

}  // namespace tollgate::http
