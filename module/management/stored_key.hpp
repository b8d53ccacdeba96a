#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/key/key_record.hpp"
#include "module/management/transaction.hpp"
#include "module/redis/protocol/command.hpp"
#include "module/redis/protocol/value.hpp"

namespace tollgate::management {

/// A key as Redis stores it.
struct StoredKey {
    std::string digest;  ///< SHA-256 in hexadecimal
    KeyRecord record{};  ///< of a replaced key: the record for its successor
    std::chrono::sys_seconds created{};
    /// The name of the operation that stores the key, a random text. The operation removes it after
    /// it has shown the key. Until then another operation may replace the key.
    std::string operation{};
    /// The request of tollgate_admin that made the key: see IdempotentRequest. Empty for others.
    std::string request{};
    /// The last rotation that changed the key before its successor existed: the request, the name
    /// of the operation, or the digest that was given. Empty for none.
    std::string rotation{};
    bool pending = false;   ///< reserved: gateways reject the key, and Redis removes it
    bool replaced = false;  ///< ended by a rotation without overlap; kept until the successor works
    /// What Redis has under the name of the key is no record: it has another type, or no id.
    /// Gateways reject the key, and an operation can only remove it.
    bool is_invalid = false;
    /// The id that had the key when it was revoked, see record_field::kRevoked. The record has only
    /// what an invoice needs then. Empty for all others.
    std::string revoked_of{};
    /// The minute of the last use: see KeyReader::with_last_uses(). Empty: none, or not read.
    std::optional<std::chrono::sys_seconds> used{};
    /// The fields of the hash as they were read, for a condition of a transaction.
    std::vector<std::string> stored_fields{};
    std::string hint{};  ///< the last characters of the key: see key_hint(); empty: not known
    std::string
        issued{};  ///< when the first key of the id was stored, as Redis has it; empty: this

    /// Whether this is a key of an id: neither revoked nor invalid.
    bool is_key() const { return revoked_of.empty() && !is_invalid; }

    /// When the id was issued.
    std::chrono::sys_seconds issue_time() const;

    /// Whether the operation that stores the key is running or was interrupted.
    bool is_unfinished() const { return pending || !operation.empty(); }
    /// Whether this is the key in use, and neither retiring nor unfinished.
    bool is_current() const { return !is_unfinished() && !replaced && !record.retiring; }
};

/// All keys of one id, the current one first. Two keys during a rotation, none if all have expired.
struct KeysOfId {
    std::string id;
    std::vector<StoredKey> keys;
};

/// Each state that state_of() returns.
inline constexpr std::array<std::string_view, 5> kStates{"active", "disabled", "expired",
                                                         "replaced", "none"};

/// The state of the current key of an id: `replaced` if an interrupted rotation has ended it;
/// `none` if there is no key.
std::string_view state_of(const KeysOfId& keys, std::chrono::sys_seconds now);

/// Parses the replies to reading_of_any() and PTTL of a key's hash. Empty if there is nothing.
std::optional<StoredKey> read_stored_key(std::string_view digest, const redis::Value& hash,
                                         const redis::Value& lifetime);

/// A condition that is met as long as Redis has what was read: see StoredKey::stored_fields.
Condition unchanged(std::string hash, const StoredKey& read);

/// Whether a note has what the last invoice of its id needs: the fields that set its quotas, and
/// when the key was made.
enum class BilledFields : bool { kOmitted, kKept };

/// The commands that replace what was read by a note that the key was revoked as one of this id,
/// for ever. A hash always has a field: while the slot of a key migrates, a script can write only a
/// key that exists.
std::vector<redis::Command> write_revoked(const std::string& hash, const StoredKey& read,
                                          std::string id, BilledFields billed);

/// The commands that write a key into its hash. They remove fields that are empty, and keep the
/// time of creation and the lifetime.
std::vector<redis::Command> write_stored_key(const std::string& hash, const StoredKey& key);

/// The version of an id is that of its current key: 32 hexadecimal digits of the SHA-256 of what
/// Redis stores of the key. Each change of an id changes its current key, or gives it another one,
/// so the version is in one hash, and a transaction can depend on it. It does not depend on last
/// uses, on the end of retiring keys, and on whether the key was shown.
std::string version_of(const StoredKey& key);

/// The version of an id with these keys, the current one first. Empty if there is none.
std::optional<std::string> version_of(const KeysOfId& keys);

/// Decides by its version whether an operation may change an id. The version is empty if the id has
/// no key.
using AcceptsVersion = std::function<bool(const std::optional<std::string>& version)>;

}  // namespace tollgate::management
