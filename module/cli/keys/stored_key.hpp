#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/key/key_record.hpp"

namespace tollgate::cli {

/// A key as it is stored in Redis.
struct StoredKey {
    std::string digest;
    KeyRecord record;  ///< of a replaced key: what its successor gets
    std::chrono::sys_seconds created;
    /// The command that stores the key, a random text. It is removed when the command has printed
    /// the key: until then another command may take the place of one that was interrupted.
    std::string command{};
    bool pending = false;   ///< it is reserved: no gateway accepts it yet, and Redis removes it
    bool replaced = false;  ///< it was ended at once by a rotation; its record waits for a new key
    bool retiring = false;  ///< it ends after the overlap of a rotation: Redis removes it then

    /// Whether the command that stores the key is still at work, or was interrupted.
    bool is_unfinished() const { return pending || !command.empty(); }
    /// Whether it is the key of its id, and not one that ends or waits.
    bool is_current() const { return !is_unfinished() && !replaced && !retiring; }
};

/// Values of `state` that no gateway accepts: only `active` is good.
constexpr std::string_view kPendingState = "pending";
constexpr std::string_view kReplacedState = "replaced";

/// All keys of one id, the current one first: two while a key is being rotated, none when all have
/// ended.
struct KeysOfId {
    std::string id;
    std::vector<StoredKey> keys;
};

/// Reads the replies to HGETALL and PTTL of a key's hash. Nothing where there is no hash.
std::optional<StoredKey> read_stored_key(std::string_view digest, const RedisReply& hash,
                                         const RedisReply& lifetime);

/// The commands that make the hash hold exactly what the key says, to be run atomically. They leave
/// `created` and the time when Redis removes the hash as they are.
std::vector<RedisCommand> write_stored_key(const std::string& hash, const StoredKey& key);

}  // namespace tollgate::cli
