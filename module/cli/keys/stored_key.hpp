#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/key/key_record.hpp"

namespace tollgate::cli {

/// A key as Redis stores it.
struct StoredKey {
    std::string digest;  ///< SHA-256 in hexadecimal
    KeyRecord record;    ///< of a replaced key: the record for its successor
    std::chrono::sys_seconds created;
    /// The name of the command that stores the key, a random text. The command removes it after it
    /// has printed the key. Until then another command may replace the key.
    std::string command{};
    bool pending = false;   ///< reserved: gateways reject the key, and Redis removes it
    bool replaced = false;  ///< ended by a rotation without overlap; kept until the successor works
    bool retiring = false;  ///< Redis removes the key at the end of the overlap of a rotation

    /// Whether the command that stores the key is running or was interrupted.
    bool is_unfinished() const { return pending || !command.empty(); }
    /// Whether this is the key in use, and neither retiring nor unfinished.
    bool is_current() const { return !is_unfinished() && !replaced && !retiring; }
};

/// All keys of one id, the current one first. Two keys during a rotation, none if all have expired.
struct KeysOfId {
    std::string id;
    std::vector<StoredKey> keys;
};

/// Parses the replies to HGETALL and PTTL of a key's hash. Empty if the hash does not exist.
std::optional<StoredKey> read_stored_key(std::string_view digest, const RedisReply& hash,
                                         const RedisReply& lifetime);

/// The commands that store the key in the hash named `hash`. Run them in one transaction. They do
/// not change the field `created` and the expiry of the hash.
std::vector<RedisCommand> write_stored_key(const std::string& hash, const StoredKey& key);

}  // namespace tollgate::cli
