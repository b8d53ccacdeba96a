#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "module/cli/terminal/json_document.hpp"
#include "module/cli/terminal/time_text.hpp"

namespace tollgate::cli {

// Values that may be missing: null in JSON, `-` in a table.

inline Json json_of(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}
inline Json json_of(const std::optional<std::chrono::sys_seconds>& time) {
    return time ? Json(format_time(*time)) : Json(nullptr);
}
inline Json json_of(const std::optional<std::int64_t>& number) {
    return number ? Json(*number) : Json(nullptr);
}

inline std::string text_of(const std::string& text) {
    return text.empty() ? "-" : text;
}
inline std::string text_of(const std::optional<std::chrono::sys_seconds>& time) {
    return time ? format_time(*time) : "-";
}
inline std::string text_of(const std::optional<std::int64_t>& number) {
    return number ? std::to_string(*number) : "-";
}

}  // namespace tollgate::cli
