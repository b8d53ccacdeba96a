#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "module/key/key_record.hpp"

namespace tollgate::management {

/// The values of a key that an operation sets. What is not given remains.
struct KeyChanges {
    std::optional<std::string> plan{};
    std::optional<std::string> name{};    ///< empty: none
    std::optional<std::string> limits{};  ///< see uniform_limits(); empty: none
    /// The time of expiry, or none.
    std::optional<std::optional<std::chrono::sys_seconds>> expires{};
    std::optional<bool> active{};

    bool empty() const { return !plan && !name && !limits && !expires && !active; }
};

/// Writes the rates that parse_rates() reads uniformly: ascending, in the largest possible units,
/// separated by one space. Throws OperationError with Reason::kInvalid, as validate().
std::string uniform_limits(const std::string& text);

/// Validates the plan and the name. Throws OperationError with Reason::kInvalid, whose message
/// begins with the name of the value.
void validate(const KeyChanges& changes);

/// Applies validated changes to a record.
void apply(const KeyChanges& changes, KeyRecord& record);

/// The changes as `NAME=VALUE…`, for the audit.
std::string text_of(const KeyChanges& changes);

/// Throws OperationError with Reason::kInvalid if the id is not valid, or if it is a key: ids are
/// printed, logged and sent to Redis.
void require_valid_id(const std::string& id);

}  // namespace tollgate::management
