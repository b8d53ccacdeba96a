#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "module/cli/terminal/printable.hpp"

namespace tollgate::cli {

using Json = nlohmann::ordered_json;

/// A JSON text without the line end: over many lines to be read, or on one (indent -1). A terminal
/// acts on nothing in it.
inline std::string json_text(const Json& json, int indent = 2) {
    // Another program may have stored a name that is not UTF-8: the rest is shown nevertheless.
    return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

/// The text that `--json` prints.
inline std::string document(const Json& json, int indent = 2) {
    return json_text(json, indent) + "\n";
}

}  // namespace tollgate::cli
