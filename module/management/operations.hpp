#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "module/management/durability.hpp"
#include "module/management/key_changes.hpp"
#include "module/management/key_operation.hpp"
#include "module/management/usage_reset.hpp"
#include "module/management/window_usage.hpp"

namespace tollgate::management {

// The operations of the command and of tollgate_admin, with what the audit says of them. Each is
// executed again if a failover may have undone it. All tasks throw OperationError.

/// Who asks for an operation, and where it is executed. `database` and `keys` must outlive the
/// operations and their tasks.
struct Caller {
    Database& database;
    const redis::Keys& keys;
    std::string actor;      ///< see AuditEntry
    std::string request{};  ///< see AuditEntry
};

/// The entry of the audit for what a caller does to an id or a group.
AuditEntry entry_of(const Caller& caller, std::string action, std::string id,
                    std::string detail = {});

/// Issues a key, or imports one.
struct FirstKey {
    KeyRecord record;  ///< of the new id
    std::chrono::sys_seconds created;
    KeyChanges values;  ///< of the record, for the audit
    bool is_imported = false;
    std::string request{};  ///< see StoredKey::request
    KeyTransactions::Revoked revoked = KeyTransactions::Revoked::kRefused;
};

/// The overlap of a rotation that does not name one, as parse_duration() reads it.
inline constexpr std::string_view kDefaultOverlap = "24h";

/// Rotates the key of an id.
struct Successor {
    std::string id;
    std::chrono::seconds overlap;  ///< see KeyOperation::rotate()
    std::string request{};         ///< see StoredKey::request
    bool is_given = false;         ///< the program has made the key: see KeyOperation::rotate_to()
    AcceptsVersion condition{};    ///< see KeyOperation
};

/// An operation that makes a key. It must outlive its tasks.
class KeyMaking {
  public:
    KeyMaking(const Caller& caller, FirstKey first);
    KeyMaking(const Caller& caller, Successor successor);

    const std::string& id() const { return id_; }

    /// What is stored of a key in clear.
    struct KeyTraits {
        std::string digest;  ///< in hexadecimal
        std::string hint{};  ///< see key_hint()
    };
    static KeyTraits traits_of(std::string_view key);

    /// Returns the traits of a key. A key that is issued has this prefix: see KeyRecord::prefix.
    using NewKeyTraits = std::function<KeyTraits(const std::string& prefix)>;
    /// Makes the key, which is unfinished until confirm(): `new_traits` returns those of the key
    /// for each execution, and a later one replaces the key of an earlier one, unless it has the
    /// same digest.
    Task<void> make(NewKeyTraits new_traits);
    /// Confirms that the new key is shown. If a failover has undone the key, stores it again.
    Task<Durability> confirm();

    const std::string& digest() const {
        return traits_.digest;
    }                                               ///< of the key that make() has made
    const KeysOfId& keys() const { return keys_; }  ///< of the id, as they are then

  private:
    Task<std::string> prefix();
    Task<void> make_once();

    Database& database_;
    const redis::Keys& names_;
    std::string id_;
    KeyOperation operation_;
    std::variant<FirstKey, Successor> how_;
    KeyTraits traits_{};
    KeysOfId keys_{};
};

/// Executes a part of an operation, again if a failover may have undone it. `database` and
/// `operation` must outlive the task.
Task<Durability> execute_durably(Database& database, KeyOperation& operation,
                                 std::function<Task<void>()> part);

/// Applies changes to all keys of an id. `check` receives each changed record before it is stored.
/// `action` is `set`, `enable` or `disable`.
Task<Durability> change_keys(Caller caller, std::string action, std::string id, KeyChanges changes,
                             std::function<void(const KeyRecord&)> check,
                             AcceptsVersion condition = {});

/// Removes an id, its keys, their last uses and its ban.
Task<Durability> revoke_keys(Caller caller, std::string id, AcceptsVersion condition = {});

/// Resets the counts of an id or a group in these tables: see reset_usage(). Recalls their leases
/// before, unless that was done.
Task<Durability> reset_usage_of(Caller caller, UsageOwner owner, CountingTables tables,
                                bool leases_are_recalled = false);

/// Removes the strikes and the ban of an id that exists.
Task<Durability> lift_ban_of(Caller caller, std::string id);

}  // namespace tollgate::management
