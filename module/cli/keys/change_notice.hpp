#pragma once

#include <span>
#include <string>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// Tells the gateways that the records of these ids and digests have changed: records the names in
/// `changes`, where a gateway finds them when its subscription is restored, and publishes them.
/// Empty names are skipped. Must not be called while a key is watched. Throws Failure.
void announce(RedisSession& session, const redis::Keys& keys, std::span<const std::string> names);

/// Runs the commands, which change one key, and announces the names. This is one transaction if
/// the deployment permits it. Otherwise the names are announced after the change, and the operation
/// must announce them again when it is repeated after an interruption. Returns false, and changes
/// nothing, if the watched key has changed. Throws Failure.
bool change_and_announce(RedisSession& session, const redis::Keys& keys,
                         std::vector<RedisCommand> commands, std::span<const std::string> names);

}  // namespace tollgate::cli
