#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "module/cli/redis/redis_session.hpp"
#include "module/redis/protocol/keys.hpp"

namespace tollgate::cli {

/// How an id stands with the gateway's bans.
struct KeyBan {
    std::string id;
    std::int64_t strikes = 0;  ///< refusals since `since`
    std::int64_t level = 0;    ///< how often it was banned: each ban doubles the last
    std::optional<std::chrono::sys_seconds> since;  ///< of the first strike
    std::optional<std::chrono::sys_seconds> until;  ///< end of a ban that is running now
};

/// Reads the strikes and the ban of an id. Throws Failure.
KeyBan read_ban(RedisSession& session, const redis::Keys& keys, std::string_view id);

/// Ends an id's ban and forgets its strikes; false when there was nothing to forget. Throws
/// Failure.
bool lift_ban(RedisSession& session, const redis::Keys& keys, const std::string& id);

}  // namespace tollgate::cli
