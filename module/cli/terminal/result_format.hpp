#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/time_text.hpp"

namespace tollgate::cli {

using Json = nlohmann::ordered_json;

/// A JSON text without the line end: over many lines to be read, or on one (indent -1). A terminal
/// acts on nothing in it.
inline std::string json_text(const Json& json, int indent = 2) {
    // Another program may have stored a name that is not UTF-8: the rest is shown nevertheless.
    return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

/// The text that `--json` prints.
inline std::string json_document(const Json& json, int indent = 2) {
    return json_text(json, indent) + "\n";
}

// Values that may be missing: null in JSON, `-` in a table.

inline Json json_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}
inline Json json_or_null(const std::optional<std::chrono::sys_seconds>& time) {
    return time ? Json(format_time(*time)) : Json(nullptr);
}
inline Json json_or_null(const std::optional<std::int64_t>& number) {
    return number ? Json(*number) : Json(nullptr);
}

inline std::string text_or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}
inline std::string text_or_dash(const std::optional<std::chrono::sys_seconds>& time) {
    return time ? format_time(*time) : "-";
}
inline std::string text_or_dash(const std::optional<std::int64_t>& number) {
    return number ? std::to_string(*number) : "-";
}

}  // namespace tollgate::cli
