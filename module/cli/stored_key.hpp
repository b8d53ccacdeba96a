#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis_session.hpp"
#include "module/core/key_record.hpp"

namespace tollgate::cli {

/// A key as it stands in Redis.
struct StoredKey {
    std::string digest;
    KeyRecord record;
    std::chrono::sys_seconds created;
    bool pending = false;   ///< a command is about to store it: it does not work yet
    bool retiring = false;  ///< replaced by a rotation: Redis itself removes it when it expires
};

/// The `state` of a pending key; gateways accept no other than `active`.
constexpr std::string_view kPendingState = "pending";

/// All keys of one id, the current one first; two while a key is being rotated, none when all have
/// ended.
struct KeysOfId {
    std::string id;
    std::vector<StoredKey> keys;
};

/// What HGETALL and PTTL say of a key's hash; nothing where there is no hash.
std::optional<StoredKey> read_stored_key(std::string_view digest, const RedisReply& hash,
                                         const RedisReply& lifetime);

/// The commands that make the hash hold exactly what the record says, to be run atomically.
/// `created` stays as it is.
std::vector<RedisCommand> write_record(const std::string& hash, const KeyRecord& record);

}  // namespace tollgate::cli
