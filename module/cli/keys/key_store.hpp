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
#include "module/redis/protocol/keys.hpp"

namespace tollgate::cli {

/// Changes keys in Redis and tells the gateways. Each operation is a sequence of KeySteps. It may
/// be interrupted after any of them: no key works that is not listed, a key that must end now has
/// ended before anything else is done, and the same operation, run again, does the rest. All throw
/// Failure.
class KeyStore {
  public:
    /// Both must outlive the store.
    KeyStore(RedisSession& session, const redis::Keys& keys)
        : session_(session), keys_(keys), reader_(session, keys), transactions_(session, keys) {}

    /// The time by Redis's clock, which decides.
    std::chrono::sys_seconds now();

    /// The id of a key that an interrupted command has stored or reserved; nothing for others.
    std::optional<std::string> unfinished_id(const KeyDigest& digest);

    /// Stores the first key of an id. It works then, but counts as unfinished until confirm().
    /// Throws ExitStatus::kConflict when the id or the key exists.
    KeysOfId create(const KeyDigest& digest, const KeyRecord& record,
                    std::chrono::sys_seconds created);

    /// Applies a change to every key of an id. It does not let a retiring key live longer.
    void update(const std::string& id, const std::function<void(KeyRecord&)>& change);

    /// Stores a new key with all that the current key of the id has, and lets that end after
    /// `overlap`. 0: all keys of the id have ended before the new one is stored. Unfinished until
    /// confirm(). Throws ExitStatus::kConflict when an earlier overlap has not ended yet, unless
    /// `overlap` is 0, and when the current key has expired.
    KeysOfId rotate(const std::string& id, const KeyDigest& digest, std::chrono::seconds overlap);

    /// Notes that the key that this store has created was printed. Throws ExitStatus::kConflict
    /// when another command has replaced it.
    void confirm(const KeyDigest& digest, const std::string& id);

    /// Removes an id, its keys, which stop working at once, and its ban.
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
