#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "module/key/key_record.hpp"
#include "module/key/meta.hpp"
#include "module/management/database.hpp"
#include "module/management/task.hpp"
#include "module/redis/protocol/record_fields.hpp"

namespace tollgate::management {

/// Changes of a key's meta. The members that are not given remain (RFC 7396, JSON Merge Patch).
struct MetaChanges {
    bool is_cleared = false;  ///< removes all members first
    std::map<std::string, std::optional<MetaValue>, std::less<>> members{};  ///< empty: remove it
};

/// The values of a key that an operation sets. What is not given remains.
struct KeyChanges {
    /// What Redis stores, by the name of the redis::RecordField; an empty text: none.
    std::map<std::string_view, std::string> values{};
    std::optional<MetaChanges> meta{};

    bool has(std::string_view field) const { return values.contains(field); }
    bool empty() const { return values.empty() && !meta; }
};

/// What Redis stores of a new value that is a text or a list of words. Throws OperationError with
/// Reason::kInvalid if it is not valid; the message begins with the name of the field.
std::string new_value(const redis::RecordField& field, std::string_view text);

/// Applies validated changes to the record of a new id or group, or to a copy for comparison; to
/// one that exists, apply_at() does. Throws OperationError with Reason::kInvalid if the meta would
/// not be valid.
void apply(const KeyChanges& changes, KeyRecord& record);

/// The day of a change by Redis's clock, if it depends on the day: it sets a billing day. Throws
/// OperationError.
Task<std::chrono::sys_days> day_of_change(Database& database, const KeyChanges& changes);

/// Sets the values of a record that exists, on this day: see changed_billing_day. Throws
/// OperationError.
void apply_at(const KeyChanges& changes, KeyRecord& record, std::chrono::sys_days today);

/// The changes as `NAME=VALUE…`, for the audit.
std::string audit_text(const KeyChanges& changes);

/// The values of `before` that differ in `after`, as `NAME=VALUE…`, for the audit. The meta is left
/// out: its values are not in the audit.
std::string replaced_text(const KeyRecord& before, const KeyRecord& after);

/// Throws OperationError with Reason::kInvalid if the text is not the name of a group.
void require_valid_group(const std::string& group);

/// What is wrong with a text that is to name a group which exists; empty: nothing.
/// require_valid_group() refuses further names.
std::string_view invalid_group_name(std::string_view group);

/// Throws OperationError with Reason::kInvalid if the id is not valid, or if it is a key: ids are
/// printed, logged and sent to Redis.
void require_valid_id(const std::string& id);

}  // namespace tollgate::management
