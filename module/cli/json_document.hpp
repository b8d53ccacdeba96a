#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tollgate::cli {

using Json = nlohmann::ordered_json;

/// The text that `--json` prints: over many lines to be read, or on one (indent -1).
inline std::string document(const Json& json, int indent = 2) {
    // Another program may have stored a name that isn't UTF-8; that must not hide all the rest.
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tollgate::cli
