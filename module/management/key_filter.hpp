#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "module/management/stored_key.hpp"

namespace tollgate::management {

/// The ids that a list shows: those that match all members that are set.
struct KeyFilter {
    std::optional<std::string> plan{};
    std::optional<std::string> state{};  ///< see state_of()
    /// A part of the name, or a pattern of the whole name with `*`, `?` or `[…]`.
    std::optional<std::string> name{};
    std::optional<std::chrono::sys_seconds> expires_before{};  ///< a key without an end is no match

    bool is_empty() const { return !plan && !state && !name && !expires_before; }
    /// Whether the current key of the id matches.
    bool matches(const KeysOfId& keys, std::chrono::sys_seconds now) const;
};

/// Throws OperationError with Reason::kInvalid if a value is not valid. The message begins with its
/// name.
void validate(const KeyFilter& filter);

}  // namespace tollgate::management
