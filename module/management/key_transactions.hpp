#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/audit.hpp"
#include "module/management/group_index.hpp"
#include "module/management/key_index.hpp"
#include "module/management/key_reader.hpp"

namespace tollgate::management {

/// The transactions that the operations on keys consist of. Each one changes keys of one cluster
/// slot atomically, if they are as they were read, and announces the change, in the same
/// transaction if the deployment permits it. All tasks throw OperationError.
///
/// A new key passes three states. First it is reserved: it is pending, gateways reject it, and
/// Redis removes it after a minute. Then the set of its id claims the digest. Then it is activated.
/// The field `operation` holds the name of the operation until the key has been shown. An operation
/// that finds an unfinished key of another operation waits up to half a second for it, and then
/// replaces it.
class KeyTransactions {
  public:
    /// `database` and `keys` must outlive the object, which must outlive its tasks. The entry is
    /// added to `audit` with the first transaction that changes what an id has, before its change.
    KeyTransactions(Database& database, const redis::Keys& keys, AuditEntry entry);

    /// The keys of an id, except the key with the digest `own`. Waits for unfinished keys, and
    /// removes those that are still pending after the wait.
    Task<std::vector<StoredKey>> settled_keys(std::string id, std::string own);

    /// Whether a key may be stored that was revoked before.
    enum class Revoked : bool { kRefused, kRevived };
    /// Reserves a digest for its id. The reservation has the record, as far as it is known, so that
    /// no other operation takes its entries out of the index. Replaces the reservation of an
    /// interrupted operation. Throws Reason::kKeyExists if the key is in use, and
    /// Reason::kRevokedKey.
    Task<void> reserve(StoredKey key, Revoked revoked);

    /// What Redis has under the digest for which reserve() would refuse it to this id: see
    /// key_in_use(). Empty if the digest may be reserved.
    Task<std::optional<StoredKey>> obstacle_to(std::string digest, std::string id);

    /// Adds a digest to the set of its id, and removes expired digests and their last uses. Returns
    /// false if the set has changed, or contains a key that is not in `known`. If `first`, the id
    /// has no other key, and the set expires after a minute unless list() is called. If not
    /// `first`, returns false when the id has no key left.
    Task<bool> claim(std::string id, std::string digest, std::vector<StoredKey> known, bool first);

    /// Adds an id to the list of all ids. Returns false if its set no longer contains the digest.
    Task<bool> list(std::string id, std::string digest, std::chrono::sys_seconds created);

    /// Removes an id from the list of all ids if its set is empty.
    Task<void> unlist_if_empty(std::string id);

    /// Activates the reserved key: gateways accept it. Returns false if another operation has
    /// replaced the reservation.
    Task<bool> activate(StoredKey key);

    /// Whether the set of an id contains the digest.
    Task<bool> is_claimed(std::string id, std::string digest);

    /// Records that the key has been shown. Returns false if another operation has replaced or
    /// ended the key.
    Task<bool> confirm(std::string digest, std::string id);

    /// Returns false if the key is to remain as it is.
    using Change = std::function<bool(StoredKey&)>;
    /// Changes a key that was read. Returns false if it does not exist any more, is pending, has
    /// begun or ceased to retire since, belongs to another id, or if `apply` returns false, which
    /// is called again if the key changes at the same time.
    Task<bool> change(StoredKey read, Change apply);
    /// Copies something of `source`, another key of the id, to a key that was read, as change()
    /// changes it. Returns false, too, if `source` is not as it was read. If the deployment does
    /// not permit to compare it in the transaction, it is compared just before.
    Task<bool> copy(StoredKey source, StoredKey read, Change apply);

    /// What remains of a key that is removed.
    enum class Ending : std::uint8_t {
        kForgotten,  ///< nothing
        kRotated,    ///< the note that the key was revoked, for redis::kRotatedKept
        kRevoked     ///< that note for ever, even if the id lists a key that has ended before
    };
    /// Removes a key of this id, and what the index has of it, unless another key of the id has the
    /// same. What is no record is removed too, unless it is to be forgotten.
    Task<void> remove(std::string digest, std::string id, Ending ending);
    using Accepts = std::function<bool(const StoredKey&)>;
    /// Removes a key of this id as remove() does, if `condition` is true. It is called again if the
    /// key changes at the same time. Returns false if the id has no such key any more, or if
    /// `condition` is false.
    Task<bool> remove_if(std::string digest, std::string id, Accepts condition, Ending ending);
    /// Removes a key of this id if it is unfinished. Returns false if it is finished.
    Task<bool> remove_unfinished(std::string digest, std::string id);
    /// Removes the key that this operation has reserved or activated, and its claim.
    Task<void> withdraw(std::string digest, std::string id);

    /// Whether this operation stores the key and has not shown it.
    bool is_own(const StoredKey& key) const { return key.operation == operation_; }
    /// The name of this operation.
    const std::string& operation() const { return operation_; }

    /// Adds the entry to `audit` again with the next of these transactions.
    void begin_again() { is_audited_ = false; }

    /// The entry tells what a change replaces, unless it was added.
    void note_replaced(const KeyRecord& before, const KeyRecord& after);

    enum class Audited : bool { kNo, kYes };
    /// Executes the transaction, which changes one key, and announces its names. Adds the entry to
    /// the audit before, unless that is done. If the deployment permits it, all this is one
    /// transaction, which begins with the entry and the names. Otherwise begin() comes first, and
    /// the names are announced after the change: the operation must announce them again when it is
    /// repeated after an interruption. Returns false, and changes no key, if a condition is not
    /// met. Throws, and changes nothing, if the entry or the names are refused.
    Task<bool> commit(Transaction transaction, Audited audited);
    /// Where an entry of the audit and a change are separate: adds the entry, and announces the
    /// names, unless this operation has done so. If one of them is refused, the operation ends
    /// before its first change. An operation calls it before it writes something outside of
    /// commit().
    Task<void> begin(std::vector<std::string> names, Audited audited);
    /// Announces names whose records do not exist any more; `removed` is the key of one in Redis.
    /// If a change and its announcement are separate, an interrupted operation may have removed the
    /// records without it.
    Task<void> announce_again(std::string removed, std::vector<std::string> names);

  private:
    enum class Removal : std::uint8_t { kRemoved, kGone, kRefused };

    Task<std::optional<StoredKey>> find(std::string digest);
    Task<Removal> try_to_remove(std::string digest, std::string id, Accepts condition,
                                Ending ending);
    std::vector<redis::Command> ending_of(const StoredKey& key, const std::string& id,
                                          Ending ending) const;
    Task<bool> change_unless(StoredKey read, Change apply, std::optional<StoredKey> source);
    Task<void> settle_group(OwnerName left, std::string stored);
    Task<bool> wait_or_time_out();
    Task<void> announce_ended(std::vector<std::string> digests);
    Transaction change_of(const StoredKey& key) const;

    Database& database_;
    const redis::Keys& keys_;
    KeyReader reader_;
    KeyIndex index_;
    AuditEntry entry_;
    bool is_audited_ = false;
    bool is_announced_ = false;  ///< names, before a change that is separate
    std::string operation_;      ///< the name of this operation
    int waits_ = 0;              ///< for other operations
};

/// The error for a key that is to be stored although Redis has this under its name: the same key, a
/// note that it was revoked, or something else.
OperationError key_in_use(const StoredKey& found);

/// The error for an id that another operation has changed at the same time.
OperationError concurrent_change(const std::string& id);

}  // namespace tollgate::management
