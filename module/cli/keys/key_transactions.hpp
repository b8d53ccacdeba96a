#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/failure.hpp"
#include "module/cli/keys/key_reader.hpp"
#include "module/cli/keys/stored_key.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// The transactions that KeyStore's operations consist of. Each one changes keys of one cluster
/// slot atomically (WATCH, MULTI, EXEC) and announces the change, in the same transaction if the
/// deployment permits it. All functions throw Failure.
///
/// A new key passes three states. First it is reserved: it is pending, gateways reject it, and
/// Redis removes it after a minute. Then the set of its id claims the digest. Then it is activated.
/// The field `command` holds the name of the command until the command has printed the key. A
/// command that finds an unfinished key of another command waits up to half a second for it, and
/// then replaces it.
class KeyTransactions {
  public:
    /// `session` and `keys` must outlive the object.
    KeyTransactions(RedisSession& session, const redis::Keys& keys);

    /// The keys of an id, except the key with the digest `own`. Waits for unfinished keys, and
    /// removes those that are still pending after the wait.
    std::vector<StoredKey> settled_keys(const std::string& id, std::string_view own);

    /// Reserves a digest for this id. Replaces the reservation of an interrupted command. Throws
    /// ExitStatus::kConflict if the key is in use.
    void reserve(const std::string& digest, const std::string& id);

    /// Adds a digest to the set of its id, and removes expired digests from the set. Returns false
    /// if the set has changed, or contains a key that is not in `known`. If `first`, the id has no
    /// other key, and the set expires after a minute unless list() is called. If not `first`,
    /// returns false when the id has no key left.
    bool claim(const std::string& id, const std::string& digest,
               const std::vector<StoredKey>& known, bool first);

    /// Adds an id to the list of all ids. Returns false if its set no longer contains the digest.
    bool list(const std::string& id, const std::string& digest, std::chrono::sys_seconds created);

    /// Removes an id from the list of all ids if its set is empty.
    void unlist_if_empty(const std::string& id);

    /// Activates a reserved key: gateways accept it. Returns false if another command has replaced
    /// the reservation.
    bool activate(const std::string& digest, const KeyRecord& record,
                  std::chrono::sys_seconds created);

    /// Whether the set of an id contains the digest.
    bool is_claimed(const std::string& id, const std::string& digest);

    /// Records that the key was printed. Returns false if another command has replaced or ended
    /// the key.
    bool confirm(const std::string& digest, const std::string& id);

    using Change = std::function<void(StoredKey&)>;
    /// Changes a key. Returns false if the key does not exist, is pending or belongs to another id.
    /// `apply` is called again if the key changes at the same time.
    bool change(const std::string& digest, const std::string& id, const Change& apply);

    /// Removes a key of this id.
    void remove(const std::string& digest, const std::string& id);
    /// Removes a key of this id if it is unfinished. Returns false if it is finished.
    bool remove_unfinished(const std::string& digest, const std::string& id);
    /// Removes the key that this command has reserved or activated, and its claim.
    void withdraw(const std::string& digest, const std::string& id);

    /// Runs the commands, which change one key, and announces the digest and the id: see
    /// change_and_announce(). An empty digest or id is not announced. Returns false if the watched
    /// key has changed.
    bool commit(std::vector<RedisCommand> commands, const std::string& digest,
                const std::string& id);

  private:
    bool remove_if(const std::string& digest, const std::string& id,
                   const std::function<bool(const StoredKey&)>& condition);
    std::optional<StoredKey> watch(const std::string& digest);
    void unwatch() { session_.unwatch(); }
    bool wait_or_time_out();
    void announce_again(const std::vector<std::string>& names);
    void announce_ended(const std::string& id);

    using Clock = std::chrono::steady_clock;

    RedisSession& session_;
    const redis::Keys& keys_;
    KeyReader reader_;
    std::string command_;                           ///< the name of this command
    std::optional<Clock::time_point> waits_until_;  ///< set by the first wait for other commands
};

/// The failure for an id that another command has changed at the same time.
Failure concurrent_change(const std::string& id);

}  // namespace tollgate::cli
