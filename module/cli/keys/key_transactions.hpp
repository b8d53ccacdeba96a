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
#include "module/redis/protocol/keys.hpp"

namespace tollgate::cli {

/// The steps of which the commands that change keys are made. Each changes one Redis key (those of
/// one cluster slot at most), atomically, and publishes the change in the same transaction. All
/// throw Failure.
///
/// A new key is reserved first: it is pending, no gateway accepts it, and Redis removes it after a
/// minute. Then the id claims its digest, then it is activated. The name of the command stays in
/// the key until the command has printed it. A command that finds an unfinished key of another one
/// waits for it for half a second, then takes its place.
class KeyTransactions {
  public:
    /// Session and keys must outlive the steps.
    KeyTransactions(RedisSession& session, const redis::Keys& keys);

    /// The keys of an id but for that with the digest `own`. Waits for unfinished ones, and removes
    /// those that are still pending then.
    std::vector<StoredKey> settled_keys(const std::string& id, std::string_view own);

    /// Reserves a digest for this id, in place of an interrupted command if need be. Throws
    /// ExitStatus::kConflict when the key is in use.
    void reserve(const std::string& digest, const std::string& id);

    /// Adds a digest to the set of its id, and removes those that have ended. False when the set
    /// names another key than those that the caller knows. `first`: the id has no other key, and
    /// the set ends by itself unless it is listed within a minute. Otherwise false when no key is
    /// left.
    bool claim(const std::string& id, const std::string& digest,
               const std::vector<StoredKey>& known, bool first);

    /// Adds an id to the list of all. False when its set does not name the digest any more.
    bool list(const std::string& id, const std::string& digest, std::chrono::sys_seconds created);

    /// Removes an id from the list of all if its set is empty.
    void unlist_if_empty(const std::string& id);

    /// Lets the gateways accept a reserved key. False when another command has taken its place.
    bool activate(const std::string& digest, const KeyRecord& record,
                  std::chrono::sys_seconds created);

    /// Whether the set of an id names the digest.
    bool is_claimed(const std::string& id, const std::string& digest);

    /// Notes that the key was printed. False when another command has taken its place, or ended it.
    bool confirm(const std::string& digest, const std::string& id);

    using Change = std::function<void(StoredKey&)>;
    /// Changes the key with this digest. False when there is none, or when it is pending.
    bool change(const std::string& digest, const std::string& id, const Change& apply);

    /// Removes a key of this id.
    void remove(const std::string& digest, const std::string& id);
    /// Removes a key of this id if it is unfinished. False when it is finished.
    bool remove_unfinished(const std::string& digest, const std::string& id);
    /// Removes the key that this command has reserved or activated, and its claim.
    void withdraw(const std::string& digest, const std::string& id);

    /// Runs the commands and publishes the digest and the id, all or nothing; an empty text is not
    /// published. False when a watched key has changed.
    bool commit(std::vector<RedisCommand> commands, const std::string& digest,
                const std::string& id);

  private:
    bool remove_if(const std::string& digest, const std::string& id,
                   const std::function<bool(const StoredKey&)>& condition);
    std::optional<StoredKey> watch(const std::string& digest);
    void unwatch() { session_.run({"UNWATCH"}); }
    bool wait_or_time_out();

    using Clock = std::chrono::steady_clock;

    RedisSession& session_;
    const redis::Keys& keys_;
    KeyReader reader_;
    std::string command_;                           ///< the name of this command
    std::optional<Clock::time_point> waits_until_;  ///< when this command stops to wait for others
};

/// What to throw when another command has taken the place of this one.
Failure concurrent_change(const std::string& id);

}  // namespace tollgate::cli
