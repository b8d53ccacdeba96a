#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "module/cli/terminal/printable.hpp"
#include "module/text/json_writer.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

/// The JSON object whose members `write` writes.
template <typename Write>
std::string written_object(const Write& write) {
    JsonWriter json;
    json.object([&] { write(json); });
    return std::move(json).take();
}

/// A line of JSON lines: the JSON object whose members `write` writes, and a line end.
template <typename Write>
std::string json_line(const Write& write) {
    return printable_json(written_object(write)) + "\n";
}

/// A value that may be missing, in a table: `-` if it is empty.
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
