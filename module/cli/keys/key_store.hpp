#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "module/cli/keys/key_reader.hpp"
#include "module/cli/keys/key_transactions.hpp"
#include "module/cli/keys/stored_key.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/key/api_key.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// Changes keys in Redis and notifies the gateways. Each operation is a sequence of
/// KeyTransactions, and may be interrupted after any of them:
/// - A key works only after its id is listed.
/// - A key that must end ends in the first transaction.
/// - Running the same operation again completes it.
/// All functions throw Failure.
class KeyStore {
  public:
    /// `session` and `keys` must outlive the object.
    KeyStore(RedisSession& session, const redis::Keys& keys)
        : session_(session), keys_(keys), reader_(session, keys), transactions_(session, keys) {}

    /// The time of Redis's clock. Expiry is computed from this clock.
    std::chrono::sys_seconds now();

    /// The id of a key that an interrupted command has reserved or stored. Empty for any other
    /// digest.
    std::optional<std::string> unfinished_id(const KeyDigest& digest);

    /// Stores the first key of an id. The key works, but is unfinished until confirm(). Throws
    /// ExitStatus::kConflict if the id or the key already exists.
    KeysOfId create(const KeyDigest& digest, const KeyRecord& record,
                    std::chrono::sys_seconds created);

    /// Calls `change` for every key of an id and stores the result. A retiring key keeps its
    /// expiry time unless the new one is earlier. `change` may be called more than once for a key.
    void update(const std::string& id, const std::function<void(KeyRecord&)>& change);

    /// Stores a new key with the record of the current key of the id, and lets the current key
    /// expire after `overlap`. If `overlap` is 0, all keys of the id end before the new one is
    /// stored. The new key is unfinished until confirm(). Throws ExitStatus::kConflict if the
    /// current key has expired, or if an earlier overlap has not ended and `overlap` is not 0.
    KeysOfId rotate(const std::string& id, const KeyDigest& digest, std::chrono::seconds overlap);

    /// Records that the new key was printed. Throws ExitStatus::kConflict if another command has
    /// replaced the key.
    void confirm(const KeyDigest& digest, const std::string& id);

    /// Removes an id, its keys and its ban. The keys stop working at once.
    void revoke(const std::string& id);

  private:
    std::vector<StoredKey> prepare_rotation(const std::string& id, const std::string& digest,
                                            std::chrono::sys_seconds now,
                                            std::chrono::seconds overlap);
    void activate_successor(const std::vector<StoredKey>& before, const std::string& digest,
                            std::chrono::sys_seconds now);
    void end_previous(const std::string& id, const std::vector<StoredKey>& before,
                      std::chrono::sys_seconds end);

    RedisSession& session_;
    const redis::Keys& keys_;
    KeyReader reader_;
    KeyTransactions transactions_;
};

}  // namespace tollgate::cli
