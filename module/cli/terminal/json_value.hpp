#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "module/cli/terminal/printable.hpp"

// JSON as values, for what the command prints with indents and for the status of a node. A worker
// has no such values: see JsonWriter.
namespace tollgate::cli {

/// JSON whose members keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// Serializes JSON without a final line end. `indent` is in spaces; -1 writes one line. Characters
/// that a terminal interprets are escaped.
inline std::string json_text(const Json& json, int indent = 2) {
    // Another program may have stored a name that is not UTF-8. Replace its invalid bytes.
    return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

/// Serializes JSON with a final line end, as `--json` prints it.
inline std::string json_document(const Json& json, int indent = 2) {
    return json_text(json, indent) + "\n";
}

/// The value at a path such as `/commands/lookup`, or null if there is none.
inline Json value_at(const Json& json, const std::string& path) {
    const Json::json_pointer pointer(path);
    return json.contains(pointer) ? json.at(pointer) : Json();
}

/// The integer at a path such as `/commands/lookup`, or 0 if there is no number.
inline std::int64_t number_at(const Json& json, const std::string& path) {
    const Json value = value_at(json, path);
    return value.is_number() ? value.get<std::int64_t>() : 0;
}

/// A value that may be missing, in JSON: `null` if it is empty.
inline Json json_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace tollgate::cli
