#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/id_list.hpp"
#include "module/management/id_snapshot.hpp"
#include "module/management/stored_key.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

/// Some consecutive ids and their keys.
struct KeyPage {
    std::vector<KeysOfId> ids;
    std::vector<ListCursor> places;  ///< of each id
    bool has_more = false;           ///< whether ids follow

    /// Where the next page begins; empty if no ids follow.
    std::optional<ListCursor> next() const {
        return has_more ? std::optional(places.back()) : std::nullopt;
    }
};

/// Reads keys from Redis. It writes nothing. All tasks throw OperationError.
class KeyReader {
  public:
    /// `database` and `keys` must outlive the object, which must outlive its tasks.
    KeyReader(Database& database, const redis::Keys& keys)
        : database_(database), keys_(keys), ids_(database, keys.ids()) {}

    /// The time of Redis's clock. Expiry is computed from this clock.
    Task<std::chrono::sys_seconds> now();
    /// The time of Redis's clock in milliseconds.
    Task<Instant> time();

    /// Throws Reason::kUnknownId if the id does not exist.
    Task<void> require_id(std::string id);

    /// The id that has the key with this digest. Throws Reason::kUnknownId if none has it.
    Task<std::string> id_with(std::string digest);

    /// One id at one moment. Throws Reason::kConcurrentChange if other operations change it during
    /// each of many reads.
    Task<IdSnapshot> snapshot(std::string id);

    /// The keys of a snapshot, also pending ones. None if the id does not exist.
    Task<KeysOfId> all_keys(std::string id);

    /// The keys of one id, without pending ones. Throws Reason::kUnknownId if the id does not
    /// exist.
    Task<KeysOfId> find(std::string id);

    /// The next ids after a place and their keys, without pending ones, the oldest id first. An id
    /// that exists from the first page to the last is on exactly one page, even if other ids are
    /// added or removed at the same time.
    Task<KeyPage> page(std::optional<ListCursor> after, std::size_t limit);

    /// The keys of each id, without pending ones, in the order of the ids.
    Task<std::vector<KeysOfId>> keys_of(std::vector<std::string> ids);

    /// Reads when the keys of these ids were last used, and returns the ids with it.
    Task<std::vector<KeysOfId>> with_last_uses(std::vector<KeysOfId> ids);
    /// Reads when the keys of one id were last used, and returns the id with it.
    Task<KeysOfId> with_last_uses(KeysOfId keys);

    /// The digests in the set of an id. Keys of some of them may have expired.
    Task<std::vector<std::string>> digests_of(std::string id);

    /// The keys with these digests, of any id: current keys first, then replaced, unfinished,
    /// retiring and pending ones. Digests without a key are skipped.
    Task<std::vector<StoredKey>> read(std::vector<std::string> digests);

    /// What Redis has of each digest of which it has something, in their order: also what is
    /// revoked or invalid.
    Task<std::vector<StoredKey>> read_anything(std::vector<std::string> digests);

  private:
    Task<std::vector<IdSnapshot>> snapshots(std::vector<std::string> ids);
    Task<std::vector<IdSnapshot*>> read_again(std::vector<IdSnapshot*> ids);
    Task<std::vector<redis::Value>> read_sets_and_records(std::vector<IdSnapshot*> ids);

    Database& database_;
    const redis::Keys& keys_;
    IdList ids_;
};

/// The error for an id that does not exist.
OperationError unknown_id(std::string_view id);

}  // namespace tollgate::management
