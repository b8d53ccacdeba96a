#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "module/management/stored_key.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// Writes the members of the JSON object of an id and its keys: what `tollgate key show --json`
/// prints and tollgate_admin answers.
void write_key(JsonWriter& json, const KeysOfId& keys, std::chrono::sys_seconds now);

/// Writes a member that is null if there is no time.
void write_time_or_null(JsonWriter& json, std::string_view name,
                        const std::optional<std::chrono::sys_seconds>& time);

}  // namespace tollgate::management
