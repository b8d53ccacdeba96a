#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "module/cli/redis/redis_session.hpp"

namespace tollgate::cli {

/// How much a check of the replay asks.
enum class ReplayCheck : std::uint8_t {
    kOneCommand,   ///< one question to each master: finds a user that may run nothing
    kAllCommands,  ///< each command that Tollgate writes with: one question for each
};

/// What masters say of a replay: the execution of their append-only file when they start.
///
/// Redis 7.0, several later versions, and Valkey execute each transaction of the file as the user
/// `default`, also if this user is off, and skip the whole transaction if the user may not run one
/// of its commands. A script that makes two changes is a transaction in the file. Redis 6.2 skips
/// nothing, and has no ACL DRYRUN.
struct Replay {
    /// Why a master skips transactions, by its address: the predicate of a sentence whose subject
    /// is the server, with what to do.
    std::map<std::string, std::string> skips;
    bool may_ask = true;  ///< false if the session's user may not call ACL DRYRUN
};

/// Asks the masters whose append-only file is on, or unknown. `infos` are their replies to INFO, by
/// address. Throws Failure if a master is unreachable.
Replay check_replay(RedisSession& session, const std::map<std::string, std::string>& infos,
                    ReplayCheck check);

}  // namespace tollgate::cli
