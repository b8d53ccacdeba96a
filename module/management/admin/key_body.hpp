#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "module/management/admin/caller_rights.hpp"
#include "module/management/admin/json_body.hpp"
#include "module/management/balance.hpp"
#include "module/management/key_changes.hpp"

namespace tollgate::management {

// What the bodies of requests describe. All functions throw OperationError with Reason::kInvalid.

/// Takes the members that describe a key. Without `now`, they are those of an export: the time of
/// expiry may be in the past, and the state may be `expired`, which is that of an active key.
KeyChanges take_changes(JsonBody& body, std::optional<std::chrono::sys_seconds> now);

/// Requires the values that each key has.
void require_complete(const KeyChanges& changes);

/// Takes the digest of a key, in hexadecimal, with this name.
std::optional<std::string> take_digest(JsonBody& body, const std::string& name);

/// The key of `POST keys`.
struct NewKeyBody {
    std::optional<std::string> id;      ///< empty: generate one
    std::optional<std::string> digest;  ///< of a key to import, in hexadecimal
    KeyChanges changes;                 ///< with a plan
};

/// Throws Reason::kNotPermitted if the caller may not give these values.
NewKeyBody read_new_key(std::string_view body, std::chrono::sys_seconds now,
                        const HeldRights& rights);

/// The digest of the key of `POST keys/lookup`, in hexadecimal: `digest`, or that of `token`.
std::string read_wanted_digest(std::string_view body);

/// The changes of `PATCH keys/ID`: a JSON Merge Patch (RFC 7396). Throws Reason::kNotPermitted if
/// the caller may not make them.
KeyChanges read_changes(std::string_view body, std::chrono::sys_seconds now,
                        const HeldRights& rights, std::string_view id);

/// The changes of `PATCH groups/ID`: a JSON Merge Patch.
KeyChanges read_group_changes(std::string_view body);

/// Takes the members of a credit but its owner.
Credit take_credit(JsonBody& body);

/// The credit of `POST keys/ID/credit` and `POST groups/ID/credit`, without its owner.
Credit read_credit(std::string_view body);

/// The rotation of `POST keys/ID/rotate`.
struct RotationBody {
    std::chrono::seconds overlap;       ///< kDefaultOverlap unless the body has another one
    std::optional<std::string> digest;  ///< of a key that the program has made, in hexadecimal
};

RotationBody read_rotation(std::string_view body);

}  // namespace tollgate::management
