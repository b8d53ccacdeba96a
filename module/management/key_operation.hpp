#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "module/key/api_key.hpp"
#include "module/management/key_transactions.hpp"
#include "module/management/stored_key.hpp"

namespace tollgate::management {

/// An operation on one id: issue, import, set, disable, enable, rotate or revoke. The command and
/// tollgate_admin use it. It is a sequence of KeyTransactions, each of which may be the last one,
/// and between which other operations may change the id:
/// - A key works only after its id is listed.
/// - A key that must end ends in the first transaction.
/// - Running the same operation again completes it.
/// - The first key of KeyReader::read() is the current one: it decides what the id is. Each change
///   of the id is made in its hash first, so that two changes have an order. update() copies the
///   result to the other keys, and reads them all again until none differs. An operation that was
///   interrupted before leaves keys that differ; the next update() makes them equal.
/// - A rotation gives the id another current key in one transaction, which ends the one before if
///   its record is that of its successor. Until then nobody else writes the successor: update()
///   leaves unfinished keys to their rotation, and a change of the current key is either made
///   before and copied, or made to the successor.
/// - A current key that is retiring already gets its successor when that is activated. The rotation
///   reads its record after the claim, and who changes it waits for a claimed successor after the
///   change, so that one of them finds what the other has done.
/// - revoke() notes in `ended` which keys it removes, before the set of the id is removed: it
///   finds them also if this is undone for one of them only. Who removes a key removes what the
///   index has of the removed record.
/// All tasks throw OperationError.
class KeyOperation {
  public:
    /// `database` and `keys` must outlive the object, which must outlive its tasks. With a
    /// condition, update(), rotate() and revoke() throw Reason::kConditionFailed and change nothing
    /// if the version of the id does not meet it. Of two operations that require the same version,
    /// one succeeds. What the operation itself has changed meets the condition, so that it may be
    /// executed again.
    KeyOperation(Database& database, const redis::Keys& keys, AuditEntry entry,
                 AcceptsVersion condition = {})
        : database_(database),
          keys_(keys),
          reader_(database, keys),
          index_(database, keys),
          transactions_(database, keys, std::move(entry)),
          condition_(std::move(condition)) {}

    /// Before the operation is executed again, because a failover may have undone its changes: the
    /// audit gets its entry again, and revoke() also removes the keys whose removal it was.
    void begin_again() { transactions_.begin_again(); }

    /// Stores the first key of an id. The key works, but is unfinished until confirm(). Throws
    /// Reason::kIdExists, Reason::kKeyExists or Reason::kRevokedKey.
    Task<KeysOfId> create(StoredKey key,
                          KeyTransactions::Revoked revoked = KeyTransactions::Revoked::kRefused);

    /// Calls `change` for the current key of an id and stores the result in every finished key. A
    /// retiring key keeps its expiry time unless the new one is earlier. `change` may be called
    /// more than once, and for its own result. The change was in the current key when the task ends
    /// without an error; throws Reason::kConcurrentChange if it is not clear that it was.
    Task<void> update(std::string id, std::function<void(KeyRecord&)> change);

    /// Stores a new key with the record of the current key of the id, and lets the current key
    /// expire after `overlap`. If `overlap` is 0, all keys of the id end before the new one is
    /// stored. The new key is unfinished until confirm(). Throws Reason::kExpired if the current
    /// key has expired, and Reason::kTwoKeys if an earlier overlap has not ended and `overlap` is
    /// not 0. `request` and `hint` are stored with the new key: see StoredKey.
    Task<KeysOfId> rotate(std::string id, std::string digest, std::chrono::seconds overlap,
                          std::string request = {}, std::string hint = {});

    /// Rotates as rotate() does, to a key that the program has made. A repetition with its digest
    /// is the same rotation: if a rotation has made it the current key, nothing changes, whatever
    /// the condition is; a rotation that was interrupted is completed. Throws Reason::kRevokedKey,
    /// and Reason::kKeyExists if the digest is that of another key. Nothing has ended then, unless
    /// another operation has taken the digest since it was reserved: see KeyTransactions.
    Task<KeysOfId> rotate_to(std::string id, std::string digest, std::chrono::seconds overlap,
                             std::string request = {});

    /// The prefix in the record of the current key; empty if there is none.
    Task<std::string> prefix_of(std::string id);

    /// Records that the new key has been shown. Throws Reason::kReplaced if another operation has
    /// replaced the key.
    Task<void> confirm(std::string digest, std::string id);

    /// Records that the new key has been shown, and returns true. If another operation has replaced
    /// the key, throws Reason::kReplaced. If a failover may have undone the key (`may_be_undone`),
    /// returns false instead: then the key must be stored again.
    Task<bool> confirm_if_there(std::string digest, std::string id, bool may_be_undone);

    /// Removes an id, its keys, their last uses and its ban. The keys stop working at once. If the
    /// id was revoked before, removes the keys that it had then: it has them again if a failover
    /// has undone their removal alone.
    Task<void> revoke(std::string id);

  private:
    struct Rotation {
        std::string id;
        std::string digest;
        std::chrono::sys_seconds start;
        std::chrono::seconds overlap;
        std::string name;  ///< see StoredKey::rotation
        std::string request;
        std::string hint;
        bool is_given = false;  ///< the program has made the key
    };

    void require_condition(const StoredKey& key, const std::string& rotation) const;
    Task<std::string> change_current(std::string id, std::string rotation,
                                     KeyTransactions::Change change);
    Task<std::optional<StoredKey>> make_equal(std::string id);
    Task<std::set<std::string>> remove_current(std::string id);
    Task<void> remove_all(std::string id, std::set<std::string> digests);
    Task<std::vector<std::string>> remove_listed(std::string id);
    Task<void> list_as_revoked(std::string id);
    Task<void> note_ended(std::string id, std::vector<std::string> digests);
    Task<void> store_successor(Rotation rotation);
    Task<bool> complete(Rotation rotation);
    Task<bool> take_over(StoredKey successor);
    Task<KeysOfId> keys_with_uses(std::string id);
    Task<void> take_current(Rotation rotation);
    Task<void> reserve(Rotation rotation);
    Task<std::vector<StoredKey>> prepare(Rotation rotation);
    Task<StoredKey> activate_successor(Rotation rotation, StoredKey source);
    Task<void> end_others(Rotation rotation, std::vector<StoredKey> before);
    Task<void> hand_over(Rotation rotation, StoredKey current, StoredKey successor, bool is_kept);

    Database& database_;
    const redis::Keys& keys_;
    KeyReader reader_;
    KeyIndex index_;
    KeyTransactions transactions_;
    AcceptsVersion condition_;
    std::string written_{};  ///< the version that update() has written
    /// The digests that revoke() removes. Empty until it has found the id.
    std::optional<std::set<std::string>> revoked_ = {};
};

/// Whether an id exists that is to be revoked. False if it was revoked before. Throws
/// Reason::kUnknownId if neither.
Task<bool> is_not_yet_revoked(Database& database, const redis::Keys& keys, std::string id);

/// The error for an id that has no key.
OperationError without_keys(const std::string& id);

/// The error for an id whose version does not meet the condition of an operation.
OperationError condition_failed(const std::string& id);

/// The id of a key that an interrupted operation has reserved or stored. Empty for any other
/// digest.
Task<std::optional<std::string>> unfinished_id(KeyReader& reader, std::string digest);

}  // namespace tollgate::management
