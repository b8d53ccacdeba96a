#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "module/cli/key_lookup.hpp"
#include "module/cli/redis_session.hpp"
#include "module/cli/stored_key.hpp"
#include "module/core/api_key.hpp"
#include "module/redis/keys.hpp"

namespace tollgate::cli {

/// Changes keys in Redis and tells the gateways. Each step changes one Redis key, atomically, so
/// that keys may lie on several nodes; the steps are ordered so that a command that is cut short,
/// or meets another one, leaves no key that works and isn't listed. Throws Failure.
///
/// A new key is first reserved as pending, which no gateway accepts and which ends by itself, then
/// listed, then made to work, and taken back if it isn't listed any more by then. A key that goes
/// is removed, taken off the list, and removed again, in case it was made to work in between.
class KeyStore {
  public:
    /// Both must outlive the store.
    KeyStore(RedisSession& session, const redis::Keys& keys)
        : session_(session), keys_(keys), lookup_(session, keys) {}

    /// Redis's clock, the one that counts.
    std::chrono::sys_seconds now();

    /// Takes the id for a new key. False when it is taken.
    bool claim(const std::string& id, std::chrono::sys_seconds created);

    /// Stores the first key of an id that was claimed. Without success the id is free again.
    void create(const KeyDigest& digest, const KeyRecord& record, std::chrono::sys_seconds created);

    /// Applies a change to every key of an id. It can't make a retiring key live longer.
    void update(const std::string& id, const std::function<void(KeyRecord&)>& change);

    /// Stores a new key with all that the id's current one has, and lets those before it end after
    /// `overlap`.
    void rotate(const std::string& id, const KeyDigest& digest, std::chrono::seconds overlap);

    /// Removes an id and its keys, which stop working at once.
    void revoke(const std::string& id);

  private:
    using Change = std::function<void(StoredKey&)>;

    void reserve(const std::string& digest, const std::string& id);
    void activate(const std::string& digest, const KeyRecord& record,
                  std::chrono::sys_seconds created);
    std::vector<StoredKey> add_successor(const std::string& id, const std::string& digest);
    bool change(const std::string& digest, const Change& apply);
    void remove(const std::string& digest, const std::string& id);
    bool commit(std::vector<RedisCommand> commands, const std::string& digest,
                const std::string& id);

    RedisSession& session_;
    const redis::Keys& keys_;
    KeyLookup lookup_;
};

}  // namespace tollgate::cli
