#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "module/management/stored_key.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// Writes the members of the JSON object of an id and its keys: what `tollgate key show --json`
/// prints and tollgate_admin answers.
void write_key(JsonWriter& json, const KeysOfId& keys, std::chrono::sys_seconds now);

/// Writes the member of a field, given what shown_text() returns; null if it has none.
void write_field(JsonWriter& json, const redis::RecordField& field, const std::string& shown);

/// Writes the members of the fields that set the quotas of an id or a group.
void write_quota_fields(JsonWriter& json, const KeyRecord& record);

/// Writes a member that is null if there is no time.
void write_time_or_null(JsonWriter& json, std::string_view name,
                        const std::optional<std::chrono::sys_seconds>& time);

}  // namespace tollgate::management
