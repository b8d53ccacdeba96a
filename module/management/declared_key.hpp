#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "module/management/groups.hpp"
#include "module/management/key_changes.hpp"
#include "module/management/stored_key.hpp"

namespace tollgate::management {

// Keys that are declared in files, for example in a git repository, and what Redis has of them.

/// The member of the meta that names who declares an id.
inline constexpr std::string_view kOwnerMember = "owner";

/// The owner in the meta of a record; empty: none. A text that is no meta has none.
std::string owner_in(const KeyRecord& record);

/// Names the owner in the meta of a declared record. Throws OperationError with Reason::kInvalid if
/// the meta names another one, or has no room for it.
void set_owner(KeyRecord& record, const std::string& owner);

/// What changes an id or a group that exists into what is declared.
struct Difference {
    KeyChanges changes{};    ///< the values that differ
    std::string digest{};    ///< of the declared key, if the current one is another one; else empty
    std::string replaced{};  ///< the present values of `changes`, as replaced_text() writes them
};

/// An id as it is declared.
struct DeclaredId {
    KeysOfId keys;           ///< one of them is not retiring
    bool has_state = false;  ///< whether the state of the key is declared
};

/// The difference between a declared id and what is stored of it; nullopt if there is none. Keys
/// that a rotation has replaced, the hint, the time of creation, and a state that is not declared,
/// are not compared. Throws OperationError with Reason::kIdExists if the id belongs to another
/// owner: its meta names one, and the declared record does not name the same.
std::optional<Difference> difference_of(const DeclaredId& declared, const KeysOfId& stored);

/// The difference between a declared group and its record; nullopt if there is none.
std::optional<Difference> difference_of(const GroupRecord& declared, const GroupRecord& stored);

}  // namespace tollgate::management
