#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "module/cli/redis/redis_session.hpp"
#include "module/quota/window.hpp"
#include "module/redis/protocol/keys.hpp"

namespace tollgate::cli {

/// One window as a quota's hash in Redis has it.
struct StoredWindow {
    WindowCount counted;
    bool sliding = false;
};

/// The windows of one quota by their period in seconds.
using StoredWindows = std::map<std::int64_t, StoredWindow>;

/// The windows of a quota's hash by their period in seconds, from fields such as `60.count`. Fields
/// that make no sense are left out.
StoredWindows read_windows(const RedisReply& hash);

/// What was counted between two readings.
struct GrantedUnits {
    std::int64_t units = 0;
    bool exact = true;  ///< false: at least so much; a window ended meanwhile
};

/// What was granted between two readings of a quota's hash. It is taken from the longest window
/// that runs on, so that shorter ones may have begun anew; where none does, from what those that
/// began since have counted. Units that a node gave back are no growth below zero.
GrantedUnits granted_between(const StoredWindows& before, const StoredWindows& after);

/// What a hash that wasn't there before has counted.
std::int64_t largest_count(const StoredWindows& windows);

/// How many units a second the running windows have granted so far: what a single reading tells.
double average_rate(const StoredWindows& windows, Instant now);

/// The hash of an id's ban.
struct StoredBan {
    std::int64_t strikes = 0;
    std::int64_t since = 0;  ///< milliseconds, as `until`
    std::int64_t level = 0;
    std::int64_t until = 0;
};

/// Reads HGETALL of a ban; nothing where there is none.
std::optional<StoredBan> read_stored_ban(const RedisReply& hash);

/// The strikes between two readings. Those that led to a ban are forgotten with it, but for one.
std::int64_t strikes_between(const std::optional<StoredBan>& before, const StoredBan& after);

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
