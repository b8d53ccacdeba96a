#pragma once

#include <chrono>

#include "module/management/stored_key.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// Writes the members of the JSON object of an id and its keys: what `tollgate key show --json`
/// prints and tollgate_admin answers.
void write_key(JsonWriter& json, const KeysOfId& keys, std::chrono::sys_seconds now);

}  // namespace tollgate::management
