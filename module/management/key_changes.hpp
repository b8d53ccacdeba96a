#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "module/key/key_record.hpp"
#include "module/key/meta.hpp"

namespace tollgate::management {

/// Changes of a key's meta. The members that are not given remain (RFC 7396, JSON Merge Patch).
struct MetaChanges {
    bool is_cleared = false;  ///< removes all members first
    std::map<std::string, std::optional<MetaValue>, std::less<>> members{};  ///< empty: remove it
};

/// The values of a key that an operation sets. What is not given remains.
struct KeyChanges {
    std::optional<std::string> plan{};
    std::optional<std::string> name{};    ///< empty: none
    std::optional<std::string> limits{};  ///< see uniform_limits(); empty: none
    /// The time of expiry, or none.
    std::optional<std::optional<std::chrono::sys_seconds>> expires{};
    std::optional<bool> active{};
    std::optional<std::string> scopes{};  ///< as parse_scopes() returns them; empty: none
    std::optional<MetaChanges> meta{};

    bool empty() const {
        return !plan && !name && !limits && !expires && !active && !scopes && !meta;
    }
};

/// Writes the rates that parse_rates() reads uniformly: ascending, in the largest possible units,
/// separated by one space. Throws OperationError with Reason::kInvalid, as validate().
std::string uniform_limits(const std::string& text);

/// The scopes that parse_scopes() reads, as it returns them. Throws as uniform_limits().
std::string uniform_scopes(const std::string& text);

/// Validates the plan and the name. Throws OperationError with Reason::kInvalid, whose message
/// begins with the name of the value.
void validate(const KeyChanges& changes);

/// Applies validated changes to a record. Throws OperationError with Reason::kInvalid if the meta
/// would not be valid.
void apply(const KeyChanges& changes, KeyRecord& record);

/// The changes as `NAME=VALUE…`, for the audit.
std::string text_of(const KeyChanges& changes);

/// Throws OperationError with Reason::kInvalid if the id is not valid, or if it is a key: ids are
/// printed, logged and sent to Redis.
void require_valid_id(const std::string& id);

}  // namespace tollgate::management
